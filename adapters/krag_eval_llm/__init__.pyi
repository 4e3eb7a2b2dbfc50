"""The public names, once: type checkers read them here, and `__init__.py` loads each when it is first used."""

from .bench.bench import run_bench as run_bench
from .bench.report import Bench as Bench
from .context_judge.judge import judge_contexts as judge_contexts
from .context_judge.result import ContextResult as ContextResult
from .context_judge.result import ContextRow as ContextRow
from .failures import ModelSetupError as ModelSetupError
from .failures import NoAnswerError as NoAnswerError
from .model import LanguageModel as LanguageModel
from .model import as_language_model as as_language_model
from .question_generation.forbidden import generate_forbidden as generate_forbidden
from .question_generation.generate import generate_evalset as generate_evalset
from .question_generation.report import GeneratedEvalSet as GeneratedEvalSet
from .question_generation.report import GenerationReport as GenerationReport
