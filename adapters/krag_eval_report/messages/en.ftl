# What pages and reports say. The file of another language has the same messages with the same arguments; their order
# and their plural forms are its own. `VALUE($x)` is a number that was formatted already. Of an argument `$x` that is a
# message itself, `$x-n` is its argument `n`. Names are arguments, so no word may depend on how they end.
#
# A message that only one file of the code says stands in the section of that file.

language-name = English
language = Language
theme-dark = Dark
theme-light = Light
footer = Made by krag-eval { $version }. This page needs no network and sends nothing.


## The first screen: report.html.j2, overview.py

view-summary = Summary
view-questions = Questions
view-details = Details
views = Views
skip = Skip to the questions
search-questions = Search questions
needs-script = Search and filters need JavaScript, which is disabled. Everything else is complete without it.
size-of-report = { $n ->
    [one] { $n } question
   *[other] { $n } questions
  }, { $runs ->
    [one] { $runs } run
   *[other] { $runs } runs
  }
show = Show
show-questions = Show the questions
show-questions-of = Show the questions: { $sentence }
more-alarms = { $n ->
    [one] { $n } more warning of this kind
   *[other] { $n } more warnings of this kind
  }
warnings = { $n ->
    [one] { $n } note on how this was scored
   *[other] { $n } notes on how this was scored
  }
board = Leaderboard
board-of = sorted by { $key }; { $n } runs
board-run = Run
board-against = Against the baseline
board-p50 = p50, ms
board-p95 = p95, ms
board-n = Questions
interval-title = 95 % interval
mark-best = best mean
mark-close = may be as good
mark-baseline = baseline
mark-void = not ranked
board-failed = { $n } failed
mark-frontier = frontier
mark-frontier-help = Frontier: no other run is at least as good and takes less, nor better and takes no more.
not-compared = not compared
outcome-better = better
outcome-worse = worse
outcome-same = the same
outcome-unresolved = cannot tell
foot-band = Band: 95 % interval of the mean.
foot-baseline = Dotted line: the baseline.
foot-verdict = ▲ better, ▼ worse, = the same by the corrected test; ○ these questions cannot tell.
foot-bold = Bold: best of its column.
scores = Scores
scores-about = band: 95 % interval
measure = Measure
value = Value
mean-title = Mean
difference-title = Difference
won-lost = Questions won, tied and lost
won-lost-about = { $key }, questions:
word-won = won
word-tied = tied
word-lost = lost
changed-documents = Gold documents that changed
changed-gained = found now, missed before
changed-dropped = missed now, found before
changed-queries = Questions:
within-all = at any rank
within-rank = within rank { $k }
of-gold = gold documents:
reasons = Why gold documents were missed
reasons-of = These are the misses of { $name }.
reasons-total = Missed
reason = Cause
missed-retriever_error = The retrieval failed
missed-nothing_retrieved = The list is empty
missed-crowded_out = Pushed out by repeats
missed-ranked_below_k = Retrieved, but below rank { $k }
missed-other_id = Retrieved under another id
missed-in_longer_text = Inside a longer text
missed-cut = Cut by a chunk border
missed-piece = Only a piece was retrieved
missed-near_miss = A similar text, but no match
missed-wrong_chunk = Another chunk of its document
missed-never_retrieved = Not retrieved at all
missed-not_cited = Found, but not cited
missed-never_searched_for = Never searched for
missed-searched_in_vain = Searched for in vain
losses = Where the pipeline lost them
fate-lost-in = Lost in the stage { $stage }
fate-below-k = Kept, but below rank { $k }
fate-not-in-corpus = Not in the corpus
fate-not-retrieved = Not retrieved by any first stage
ceilings = What recall could be
ceiling-recall = as it is
ceiling-without-repeats = repeats taken out
ceiling-best-order = in the best order, at most
slices = Slices
slice = Slice
no-slice = (none)
slices-foot = ▲ ▼ where the verdict of the slice itself, corrected for all slices, decides against the baseline.
slices-foot-all = ▲ ▼ where a slice is surely above or below the mean over all questions, corrected for all slices.
slices-more = { $n } more in Details
frontier = Quality against what it takes
frontier-help = Each run as a point: quality upwards, what it takes to the right. The leaderboard has the same numbers.
differences = Differences
differences-about = band: 95 % interval; dotted line: no difference
missed = Questions that miss something
missed-more = { $n } more are not listed.
rank-none = not retrieved
rank-found = { $rank }
rank-low = ({ $rank })
matrices = Metrics by cut-off
verdict-undefined = No value is defined
verdict-none-ranked = No run can be used: each of them leaks
verdict-finds = { $a } finds { $n } of { $gold } gold documents
verdict-finds-within = { $a } finds { $n } of { $gold } gold documents in the first { $k }
verdict-both = { $a } is better and worse than { $b }
verdict-better = { $a } is better than { $b }
verdict-worse = { $a } is worse than { $b }
verdict-better-in = { $a } is better than { $b } in { $key }
verdict-worse-in = { $a } is worse than { $b } in { $key }
verdict-equal = { $a } and { $b } score the same on every query
verdict-same = { $a } and { $b } differ by at most { VALUE($margin) }
verdict-open = These queries cannot tell { $a } from { $b }
verdict-highest = { $a } has the highest { $key }: { VALUE($value) }
verdict-lowest = { $a } has the lowest { $key }: { VALUE($value) }
verdict-highest-tied = { $a } and { $others } more have the highest { $key }: { VALUE($value) }
verdict-lowest-tied = { $a } and { $others } more have the lowest { $key }: { VALUE($value) }
support-value = { $key } of { $name } is { VALUE($value) } over { $n } queries.
support-value-interval = { $key } of { $name } is { VALUE($value) } (95 % interval { VALUE($low) } to { VALUE($high) }) over { $n } queries.
support-missing = Queries that miss a gold document: { $missing } of { $n }.
support-from-to = { $key } goes from { VALUE($before) } to { VALUE($after) }: won { $won }, tied { $tied }, lost { $lost } of { $n }.
support-from-to-interval = { $key } goes from { VALUE($before) } to { VALUE($after) }, by { VALUE($difference) } (95 % interval { VALUE($low) } to { VALUE($high) }): won { $won }, tied { $tied }, lost { $lost } of { $n } queries.
support-also-better = Also better: { $keys }.
support-also-worse = Also worse: { $keys }.
support-better = Better: { $keys }.
support-worse = Worse: { $keys }.
support-latency = Median latency: { VALUE($ours) } ms against { VALUE($theirs) } ms.
support-better-than = Better than { $names } beyond chance.
support-better-than-more = Better than { $names } and { $more } more beyond chance.
support-close = These queries cannot tell it from { $names }, which may be as good.
support-close-more = These queries cannot tell it from { $names } and { $more } more, which may be as good.
support-many-better = Better than { $baseline } in { $key }: { $names }.
support-many-better-more = Better than { $baseline } in { $key }: { $names } and { $more } more.
support-many-worse = Worse than { $baseline } in { $key }: { $names }.
support-many-worse-more = Worse than { $baseline } in { $key }: { $names } and { $more } more.
alarm-left-out = The run is left out of the ranking.
alarm-forbidden = Do not use { $name }: it shows forbidden documents
alarm-forbidden-evidence = { $n } of { $of } queries got a forbidden document. First: { $first }.
alarm-questions = Do not use the scores of { $name }: the questions stand in its index
alarm-questions-evidence = For { $n } of { $of } queries with gold documents the document at rank 1 is the question itself, word for word.
alarm-questions-remedy = Take them out of the index, and retrieve again.
alarm-failed = { $n } of { $of } retrievals of { $name } failed, { $gold } of them with an answer to find
alarm-failed-count = They count as nothing retrieved.
alarm-failed-means = So { $key } is { VALUE($value) }; over the { $n } queries that did not fail it is { VALUE($other) }.
alarm-failed-error = { $n } of { $of } with { $error }. Repeat the run before comparing it.
alarm-empty = { $name } retrieved nothing for { $n } of { $of } queries with gold documents
alarm-no-match = No retrieved document of { $name } matches a gold document
alarm-no-match-remedy = Check ids, texts and the matching method.
fact-cause = Most misses of { $name }: { $why } ({ $cause }), { $n } of { $of } missed gold documents.
fact-cause-within = Most misses of { $name }: { $why } ({ $cause }), { $n } of { $of } missed gold documents within rank { $k }.
fact-stage = Of { $of } gold documents of { $name }, { $n } are lost in the stage { $stage }.
fact-gained = Gold documents that { $name } finds and { $baseline } misses: { $n } (queries: { $queries }).
fact-gained-within = Gold documents that { $name } finds within rank { $k } and { $baseline } misses: { $n } (queries: { $queries }).
fact-lost = Gold documents that { $name } misses and { $baseline } finds: { $n } (queries: { $queries }).
fact-lost-within = Gold documents that { $name } misses within rank { $k } and { $baseline } finds: { $n } (queries: { $queries }).
fact-slice-worse = Worse: { $field } = { $value }, { $key } of { $name } { VALUE($difference) } (95 % interval { VALUE($low) } to { VALUE($high) }) over { $n } queries.
fact-slice-below = Surely below the mean of { $name }: { $field } = { $value }, { $key } { VALUE($mean) } over { $n } queries; { VALUE($all) } over all.
fact-slice-above = Surely above the mean of { $name }: { $field } = { $value }, { $key } { VALUE($mean) } over { $n } queries; { VALUE($all) } over all.
gate-status = Gate of { $name }: { $status }

unit-ms = ms


## Search, filters and the list: queries.html.j2, keys.html.j2, controls.js, chips.js, list.js, row.js, means.js, address.js

questions-title = Questions
filter-questions = Filter the questions
search-label = Search
search-placeholder = Search questions, documents, ids
chips-label = Filters
add-filter = + filter
view-options = View
view-title = What the list shows
reset = Reset
filters-title = Filters
filter-cause-short = cause
filter-state = State
filter-in = In run
filter-label = Labels
filter-change = Change
filter-metric = Metric
filter-of = of
filter-least = at least
filter-most = at most
filter-found = Found by
filter-missed = Missed by
view-shown = Compare
view-against = against
view-order = Order
view-columns = Columns
view-all-runs = Marks of all runs
all = all
any-run = any run
against-nothing = nothing
no-value = (none)
cause-any = any miss
cause-none = no miss
cause-found = any found
state-failed = retrieval failed
state-empty = nothing retrieved
state-no-gold = no gold document
state-no-gold-empty = no gold document, nothing retrieved
state-leak = forbidden document retrieved
labelled-any = with labels or notes
labelled-none = without labels
labelled-gold = with a document labelled as gold
labelled-not-gold = with a document labelled as not gold
labelled-note = with a note
change-any = any two runs differ
change-differs = differs
change-better = got better
change-worse = got worse
change-same = is the same
order-worst = worst first
order-place = as in the set
order-columns = as the columns say
difference = difference
cut-off = Cut-off k
as-reported = As reported
copy-link = Copy link
copied = Copied
not-copied = The browser does not let this page copy. The address bar has the link.
save-table = Download as CSV
save-set = Download as set
save-set-help = The listed questions as JSONL with what the compared run retrieved. Evaluate them with: krag-eval evaluate questions.jsonl
nothing-matches = No question matches these filters.
count-all = { $all ->
    [one] { $all } question
   *[other] { $all } questions
}
count-of = { $shown } of { $all ->
    [one] { $all } question
   *[other] { $all } questions
}
count-with = { $shown ->
    [one] { $shown } of { $all } questions contains “{ $text }” in the question or a document
   *[other] { $shown } of { $all } questions contain “{ $text }” in the question or a document
}
count-searching = Searching { $all ->
    [one] { $all } question
   *[other] { $all } questions
} for “{ $text }” …
chip-all = All { $n }
chip-slice = { $field }: { $value }
chip-by = { $what }, by { $run }
chip-missed = Missed
chip-missed-by = Missed by { $run }
chip-missed-by-all = Missed by every run
chip-lost = { $run } lost
chip-lost-help = Gold documents that { $baseline } finds and { $run } misses
chip-won = { $run } won
chip-won-help = Gold documents that { $run } finds and { $baseline } misses
chip-found-by = Found by { $run }
chip-found-by-all = Found by every run
chip-differ = Runs differ
chip-change = { $key }: { $run } { $what } than { $baseline }
chip-alone = Only { $run }
chip-at-least = { $key } of { $of } at least { $least }
chip-at-most = { $key } of { $of } at most { $most }
chip-between = { $key } of { $of } from { $least } to { $most }
chip-no-gold = No answer
chip-failed = Failed
chip-leak = Forbidden document
chip-labelled = Labelled
chip-remove = Remove the filter { $label }
column-id = Id
column-number = No.
column-question = Question
column-gold = Gold
column-misses = Why missed
column-ranks = Ranks
column-found-by = Found by
found-by-of = { $n } of { $of }
sort-by = Sort by { $name }
row-open = Show the gold documents here
row-close = Hide the gold documents
open-question = Open the question
and-more = and { $n } more
mark-found = found at rank { $rank }
mark-below = below the cut-off at rank { $rank }
mark-missing = not retrieved
mark-failed = retrieval failed
mark-none = no gold document
marks-legend = One mark per gold document:
legend-found = found at this rank
legend-below = below the cut-off
legend-missing = not retrieved
legend-move = move
legend-unfold = unfold
legend-open = open
legend-keys = all keys
mean = mean
mean-of-listed = { $n ->
    [one] { $key } of this { $n } question
   *[other] { $key } of these { $n } questions
}
mean-of-all = (of all { $n }: { $means })
means-of = { $n ->
    [one] Means over { $n } listed question with gold documents, at k = { $k }
   *[other] Means over { $n } listed questions with gold documents, at k = { $k }
}
run = run
metric = metric
texts-missing-gold = The texts of the gold documents are missing: only their ids are known.
texts-missing-retrieved = The texts of the retrieved documents are missing: only their ids are known.
texts-missing-all = The texts of the gold documents and retrieved documents are missing: only their ids are known.
no-metric-defined = No question has gold documents, so no metric is defined.
asked-in-vain = The address asks for what this report does not have: { $what }.
vain-question = question { $name }
vain-number = question number { $n }
keys-title = Keys
keys-in-list = In the list
keys-in-question = In a question
key-search = search
key-escape-search = empty the search, then leave it
key-row = next and previous question
key-page = move in the list
key-unfold = show its gold documents in the list
key-open = open the question
key-next-miss = next miss
key-question = question
key-document = document
key-gold = gold
key-not-gold = not gold
key-undo = undo
key-list = list
key-close = back to the list
key-help = these keys
close = Close


## A question: query.js, documents.js, outcomes.js, strips.js, labels.js

not-in-list = not in the list
place-in-list = { $n } of { $of }
previous-question = Previous question
next-question = Next question
close-escape = Close (Escape)
question-as-text = The question as text
next-miss = Next miss
next-miss-help = Next question that misses gold documents (N)
copy-as-text = Copy as text
print = Print
lead-no-gold = No gold document answers this question, so its metrics are not defined.
lead-one = { $of ->
    [one] { $run } finds { $n } of { $of } gold document.
   *[other] { $run } finds { $n } of { $of } gold documents.
}
lead-two = { $of ->
    [one] Of { $of } gold document, { $one } finds { $n } and { $other } finds { $m }.
   *[other] Of { $of } gold documents, { $one } finds { $n } and { $other } finds { $m }.
}
lead-many = { $of ->
    [one] Of { $runs } runs, { $every } find the gold document and { $none } miss it.
   *[other] Of { $runs } runs, { $every } find all { $of } gold documents, { $some } find some and { $none } find none.
}
expected-answer = Expected answer
answer-given = Answer given
answer-given-by = Answer given by { $run }
scores-of-answer = Scores of the answer
judge-said = What the judge said
retriever-raised = { $run }: the retriever raised
values = Values
all-values = All { $n } values
gold-documents = Gold
no-gold-documents = No gold documents.
nothing-retrieved = Nothing was retrieved.
which-ranking = Which ranking is shown
legend-marked = marked
legend-shared = words that gold and retrieved documents share
legend-dotted = dotted
legend-of-question = words of the question
text-question-id = Question { $id }
text-question = Question: { $value }
text-answer = Expected answer: { $value }
text-found = found at { $where }
text-retrieved-by = Retrieved by { $run }
relevant = relevant
search-number = Search { $n }
no-text = No text.
show-all-characters = Show all { $n } characters
gold-number = Gold { $n }
grade = grade { VALUE($grade) }
rank = rank { $rank }
rank-of-search = rank { $rank } of search { $search }
fate-found = { $where }
fate-below = { $where }, below the cut-off { $k }
fate-crowded-out = { $where }, below the cut-off { $k }; repeats and near duplicates above it crowded it out
fate-not-cited = { $where }, but the answer cites it nowhere
fate-not-counted = not counted, its grade is 0
fate-repeat = the same as gold { $n }
fate-alternative = an alternative to gold { $n }
matched-by = by { $method } ({ VALUE($similarity) })
match-of-gold = gold { $n } by { $method } ({ VALUE($similarity) })
method-id = id
method-text = text
method-containment = containment
method-embedding = embedding
method-span = span
more-runs = { $n ->
    [one] { $n } more run
   *[other] { $n } more runs
}
stages = Stages
stage-kept = Kept by every stage.
stage-not-retrieved = No search of the pipeline retrieved it.
stage-below-k = It came out of the last stage below the cut-off.
stage-not-in-corpus = It is not in the corpus.
stage-lost-in = Lost in { $stage }.
span-legend = retrieved within the cut-off;
span-legend-of = retrieved within the cut-off by { $run };
span-underlined = underlined
span-wave = with a wave
span-missed = missed
nearest-text = Nearest text: { $where }
nearest-text-of = Nearest text: { $where } of { $run }
similarity = similarity { VALUE($similarity) }
forbidden = forbidden
score = score { $score }
cut-off-line = Cut-off { $k }: below does not count
earned-repeats = repeats { $where }
earned-grade-0 = not relevant, its grade is 0
earned-no-credit = relevant, no credit
earned-credit = credited
moved-new = new
moved-stays = stays
moved-up = up { $n }
moved-down = down { $n }
moved-gone = gone
label = Label
label-gold = This is gold
label-not-gold = This is not gold
label-grade = Grade { VALUE($grade) }
label-names-text = No id: the label names its text.
no-label-no-id = No label is possible: this document has no id.
no-label-nothing = No label is possible: this document has no id and no text.
labels-impossible = Labels are not possible: { $why }.
note-on-question = Note on this question
labels-given = { $n ->
    [one] { $n } label
   *[other] { $n } labels
}
labels-and-notes = { $n ->
    [one] { $n } label
   *[other] { $n } labels
} and { $notes ->
    [one] { $notes } note
   *[other] { $notes } notes
}
labels-not-written = { $labels }, not written to { $file }
labels-being-written = { $labels }, being written to { $file }
labels-written = { $labels }, written to { $file }
labels-downloaded = { $labels }, downloaded
labels-not-downloaded = { $labels }, not downloaded
labels-not-kept = This browser does not keep them: download them before you close the page.
labels-refused = The server did not take the last change: { $why }
labels-written-here = Labels are written to { $file } on this machine.
undo = Undo
download = Download
forget = Forget
ask-to-forget = Forget { $labels }?
ask-to-forget-file = Forget { $labels } and remove them from { $file }?
yes-forget = Yes, forget
keep = Keep


## Sections and tables: sections, and krag_eval/analysis, krag_eval/evaluation

# Counts and numbers

n-query = { $n ->
       [one] { $n } query
      *[other] { $n } queries
    }
n-question = { $n ->
       [one] { $n } question
      *[other] { $n } questions
    }
n-retrieval = { $n ->
       [one] { $n } retrieval
      *[other] { $n } retrievals
    }
n-search = { $n ->
       [one] { $n } search
      *[other] { $n } searches
    }
n-cluster = { $n ->
       [one] { $n } cluster
      *[other] { $n } clusters
    }
interval = { VALUE($low) } to { VALUE($high) }
percent = { VALUE($x) } %
milliseconds = { VALUE($x) } ms
seconds = { VALUE($x) } s
sentences = { $before } { $after }
some-and-more = { $ids } and { $n } more
of-system = { $title }: { $system }
of-systems = { $systems }: { $reason }
report-title = { $systems } on { $what }

# Scores

summary-title = Scores
no-query = There is no query, so no value is defined.
no-gold = No query has a gold document, so no value is defined: each value is a dash.
no-gold-at-level = No query has a gold document at this level, so no value is defined: each value is a dash.
undefined-left-out = A mean excludes the queries for which it is undefined, such as those without an answer: { $n }.
no-texts-retrieved = No retrieved document has a text, only an id, so the report cannot show their texts.
no-texts-gold = No gold document has a text, only an id, so the report cannot show their texts.
intervals-about = Intervals are 95 % confidence intervals of the mean.
value-of = Value of { $system }
column-95-interval = 95 % interval
interval-of = 95 % confidence interval of the value of { $system }
counts-title = What was scored: { $queries }
column-count-queries = queries
column-count-queries-help = Scored queries
column-count-failed = failed
column-count-failed-help = Retrievals that raised; they count as an empty result
column-count-without_an_answer = without an answer
column-count-without_an_answer-help = Queries without gold documents
column-count-other_level = other level
column-count-other_level-help = Queries whose gold is known at the other level only (chunk or document): undefined except for doc_hit
column-count-unmatchable_gold = unmatchable gold
column-count-unmatchable_gold-help = Gold documents without the id, text or place that the method reads; they never match
column-count-unmatchable_retrieved = unmatchable retrieved
column-count-unmatchable_retrieved-help = Retrieved documents without the id, text or place that the method reads; they never match

# Columns of several tables

column-system = system
column-metric = metric
column-undefined = undefined
column-undefined-help = Queries that the mean excludes
column-mean = mean
column-share = share
column-meaning = meaning
column-questions = questions
column-queries = queries
column-name = name

# The comparison

comparison-title = Compared with { $baseline }
all-pairs-title = All pairs compared
all-systems = { $key }: all systems
all-pairs = { $key }: all pairs
against = { $system } against { $baseline }
letters-note = Systems that share a letter cannot be told apart.
column-letters = letters
column-pair = pair
column-effect_size = effect size
column-effect_size-help = Hedges' g: the mean difference in standard deviations of the differences
column-baseline = base
column-baseline-help = Mean of the baseline
column-here = here
column-here-help = Mean of the system
column-difference = diff
column-difference-help = Difference of the two means
column-diff = diff
column-interval = interval
column-interval-help = Confidence interval of the difference
column-p_holm = p
column-p_holm-help = Two-sided randomization test, adjusted for all tests
column-won_tied_lost = +/=/-
column-won_tied_lost-help = Queries won, tied and lost
column-verdict = verdict
not-resolved = not resolved
no-difference = no difference larger than { VALUE($margin) }
unresolved = cannot be resolved with { $queries }
unresolved-in-clusters = cannot be resolved with { $queries } in { $clusters }
verdict-remark = { $verdict } ({ $remark })
could-be = { VALUE($size) } could be
by-less-than = by less than { VALUE($margin) }
reason-p = p is { VALUE($p) }
reason-includes-0 = { $p }, but its interval includes 0
reason-corrected = { $p } alone and { VALUE($adjusted) } after correction for { $n } tests
reason-excludes-0 = its interval excludes 0, but { $p }
nothing-compared = No query has a value in both systems, so nothing can be compared: each number is a dash.
failed-in-comparison = { $system }: { $failed } failed, counted as nothing retrieved.
left-out = { $queries } without a value (such as those without gold documents): left out.
of-resamples = { $n } resamples
of-random-signs = random signs of { $n } clusters
by-holm = by Holm
by-tukey = by Tukey's HSD over all pairs
between-runs = {" "}Both allow for the variance between the runs of a system.
unseen-clusters = {" "}Up to { VALUE($share) } % of all clusters may be of a kind that these { $n } do not show.
how-tested = { VALUE($confidence) } % intervals from { $sampled }.{ $clusters } p: two-sided randomisation test ({ NUMBER($rounds, useGrouping: 0) } rounds unless exact), adjusted { $adjusted } (number of tests: { $tests }; in slices: all by the field), significant up to { VALUE($level) }.{ $runs } +/=/-: queries won, tied and lost. Seed { $seed }.

# Slices

slices-title = By slices
slices-about = Each mean is over the queries of the slice for which it is defined; their number is in the table.
by-field = By { $field }
key-by-field = { $key } by { $field }
column-defined = defined
column-defined-help = Queries with a value

# Causes

causes-title = Causes of misses
causes-about = Every gold document that was not found { $within } has one cause: the first in this list that applies.
at-any-rank = at any rank
causes-by = Causes by { $field }
gold-documents-of-cause = Gold documents: { $cause }
gold-documents-title = Gold documents
column-cause = gold document
column-share-of-gold = share
column-share-of-gold-help = Of all gold documents
found-within-cut-off = a retrieved document matches it within the cut-off
cause-retriever_error = the retriever raised
cause-nothing_retrieved = nothing was retrieved
cause-crowded_out = without repeats and near duplicates above it, it would be within the cut-off
cause-ranked_below_k = it was retrieved, but below the cut-off
cause-other_id = the same text was retrieved under another id
cause-in_longer_text = a retrieved text contains it
cause-cut = a chunk border cuts it: a retrieved text holds only its beginning or its end
cause-piece = a piece of it was retrieved, without its beginning and its end
cause-near_miss = a retrieved text is similar, but does not match it
cause-wrong_chunk = another chunk of the same document was retrieved
cause-never_retrieved = nothing like it was retrieved
cause-not_cited = it was found, and the answer cites nothing that satisfies it
cause-never_searched_for = no search of the session asked for it
cause-searched_in_vain = a search of the session asked for it, and nothing like it was retrieved
ceilings-title = What { $key } could be
ceiling-with_perfect_reranking = at most, with the same documents in the best order
ceiling-without_repeats = with documents that repeat an earlier one taken out

# Stages

stages-title = Stages
stages-about = Each need (a gold document, or any one of several) has one fate. The recall of a stage is that of all documents that it returned, its ceiling the recall that is possible if later stages lose nothing, and its gain what recall could win at most if the stage had lost nothing of what it was given.
fates-title = What became of the needs
fates-note = share: mean over the questions; the share of kept is { $recall }
column-fate = fate
column-needs = needs
column-needs-of-slice = needs
column-needs-of-slice-help = Needs
column-such-as = such as
fate-not_in_corpus = nothing in the corpus matches
fate-not_retrieved = no stage returned it
fate-below_k = the last stage returned it below the cut-off
fate-kept = the last stage returned it within the cut-off
fate-lost = the stage was given it and did not return it
column-stage = stage
column-inputs = given
column-inputs-help = The stages whose documents it was given
column-n_questions = questions
column-n_questions-help = Questions that went through it
column-depth = documents
column-depth-help = Documents that it returned, on average
column-recall = recall
column-recall-help = Of all documents that it returned
column-ceiling = ceiling
column-ceiling-help = Recall if all stages after it lost nothing
column-n_lost = lost
column-n_lost-help = Needs that it was given and did not return, and that no later stage was given
column-gain = gain at most
column-gain-help = What recall could win if it had lost nothing of what it was given
funnel-failed = The retriever raised for { $questions }: { $ids }. Nothing was retrieved.
funnel-missing = The run has no row for { $questions }: { $ids }. Nothing was retrieved.
funnel-searches-failed = { $searches } of sessions failed and returned nothing.
funnel-lists = The rows have { $n } different lists of stages, such as { $shown }. Each stage is counted by its name, and its recall is the one of the questions that went through it.

# Questions without an answer, parameters, signatures

negatives-title = Questions without an answer
negatives-about = They are excluded from all other metrics: the correct result is an empty list.
column-unanswered = questions
column-unanswered-help = Questions without gold documents
column-empty = came back empty
column-empty-help = Those for which nothing was retrieved
column-empty_share = share
column-empty_share-help = Of the questions without an answer
column-mean_retrieved = documents on average
parameters-title = How the runs were made
parameters-table = Parameters
recorded-table = Recorded by the runner
latency-table = Latency
column-calls = calls
column-calls-help = Successful calls, each measured alone
column-p50 = p50
column-p95 = p95
column-p99 = p99
column-max = max
column-failed = failed
column-failed-help = Questions on which the retriever raised
signatures-title = How it was scored
signatures-about = Scores are comparable only if their signatures, which name all settings that matter, are equal.
evaluation-set = Evaluation set: { $name }, { $questions }, fingerprint { $fingerprint }.
unnamed = unnamed
column-signature = signature

transitions-within = {" "}within rank { $k }
transitions-why = {" "}({ $causes })
transitions-found = gold documents found now, missed before{ $within }: { $n }{ $why }
transitions-found-sentence = Gold documents found now, missed before{ $within }: { $n }{ $why }.
transitions-missed = gold documents missed now, found before{ $within }: { $n }{ $why }
transitions-missed-sentence = Gold documents missed now, found before{ $within }: { $n }{ $why }.
slices-none-worse = no slice is surely worse
slices-none-worse-sentence = No slice is surely worse.
slice-worse = surely worse: { $field } = { $value } ({ $queries }): { $key } { VALUE($difference) } ({ VALUE($low) } to { VALUE($high) })
slice-worse-sentence = Surely worse: { $field } = { $value } ({ $queries }): { $key } { VALUE($difference) } ({ VALUE($low) } to { VALUE($high) }).

# A session of searches, and labels

n-document = { $n ->
       [one] { $n } document
      *[other] { $n } documents
    }
listed = { $before }, { $after }
brought-new = { $n } new
brought-nothing = nothing new
brought-gold = covers { $n } more of the gold
brought-all = the evidence is complete
labels-of-spans = gold is given as places in documents here, and labels name whole documents
labels-without-ids = the queries have no ids here; build the report from an evaluation set

overview-title = In short
# Details: matrices.py

matrix-baseline = { $name }, baseline
matrix-no-cut-off = No cut-off
matrix-cut-off = Cut-off { $k }
matrix-difference = { VALUE($difference) }: { $verdict }

# Plots

plot-hits = Questions for which something was found
plot-over_k = Metrics over the cut-off
plot-over_size = Recall over the size of what was retrieved
plot-over_searches = Recall over the searches of a session
plot-spread = Values of single questions
plot-sweep = Metrics over the matching threshold
plot-changes = Queries won, tied and lost against the baseline
plot-slices = Means by slice
plot-causes = Gold documents found, and causes of misses
plot-stages = Where needs were lost
plot-about = { $title }{ $of } · { $n ->
    [one] { $n } query
   *[other] { $n } queries
}
plot-of-set = {" "}· { $name }
plot-of = { $name }: { $text }
plot-value = { $key } { VALUE($value) }
plot-value-interval = { $key } { VALUE($value) } ({ VALUE($low) } to { VALUE($high) })
plot-from-to = { $metric } from { VALUE($before) } at k = { $first } to { VALUE($after) } at k = { $last }
plot-all-ranks = all
plot-tokens = { $n } tok
plot-characters = characters retrieved, on average
plot-budget = tokens retrieved, on average
plot-recall-in-characters = recall { VALUE($value) } in { $n } characters on average
plot-recall-in-tokens = recall { VALUE($value) } in { $n } tokens on average
plot-searches = searches
plot-after = { VALUE($before) } after one search to { VALUE($after) } after { $n }
plot-threshold = threshold
plot-in-use = threshold in use: { VALUE($at) }
plot-around = within { VALUE($by) } of it
plot-swept = { $key } { VALUE($before) } at { VALUE($first) }, { VALUE($here) } at { VALUE($used) }, { VALUE($after) } at { VALUE($last) }
plot-values = { $n } values
plot-values-undefined = { $n } values, { $undefined } undefined
plot-range = { $low } to { $high }
plot-median = { $key } median { VALUE($median) }, mean { VALUE($mean) } of { $n } questions
plot-hit_rate = hit_rate@k: at least one gold chunk found
plot-doc_hit = doc_hit@k: one of its documents found
plot-gold-documents = gold documents
plot-found = found
plot-found-within = found within rank { $k }
plot-cause = { $cause }: { $n }
plot-queries = queries
plot-count = { $part } { $n }
plot-fate = { $fate } { $n } of { $of } needs
plot-share = { $name }: { VALUE($n) } ({ VALUE($share) })
plot-all-needs = all needs
plot-after-stage = after { $stage }
plot-in-corpus = in the corpus
plot-retrieved = retrieved
plot-kept = kept


## The folder and the page for labels: view.html.j2, label.html.j2, label.js

folder-about = Reports and runs of this folder and of the folders in it, newest first.
folder-reports = Reports
folder-report = Report
folder-says = What it says
folder-date = Date
folder-file = File
folder-no-report = There is no report yet.
folder-queues = Queues to label
folder-queues-about = Keys 0, 1 and 2 label, U takes back. In the terminal:
folder-runs = Runs
folder-run = Run
folder-runs-about = A run is scored by id with the default settings. For others, write a report:
folder-no-set = No evaluation set is in the folder, so these runs cannot be scored.
folder-score-with = Score it with
folder-labels = Labels
folder-labels-about = Labels that were given in these pages. This command writes a new evaluation set with them:
folder-served = Served by krag-eval { $version } on this machine alone.
queue-title = { $name } - label
queue-who = Your name
queue-who-hint = if several people label
queue-number = The number so far
queue-labels = Label
queue-written = Each label is written to this file on this machine before the next document is shown:
queue-served = Served by krag-eval { $version }.
queue-key-0 = not relevant
queue-key-1 = relevant
queue-key-2 = answers it fully
queue-key-u = undo
queue-key-n = skip
queue-fault = Not written: { $why }. What was written before is safe. Press the key again, or start krag-eval view again.
queue-progress = { $n } of { $of }
queue-progress-pace = { $n } of { $of }, about { $pace } an hour
queue-over = { $n } of { $of } labelled. Nothing is left.
queue-again = Ask me again where we disagree
queue-no-text = No text: label by the id.

n-run = { $n ->
       [one] { $n } run
      *[other] { $n } runs
    }
board-lead-highest = { $runs } on { $questions } of { $file }, highest { $key } first; the order alone decides nothing.
board-lead-lowest = { $runs } on { $questions } of { $file }, lowest { $key } first; the order alone decides nothing.
board-intervals = Intervals hold the value with 95 % confidence.
board-differences = Differences are to { $baseline }; verdicts allow for all tests of this table.
board-frontier = On the frontier: no other run has both a better { $key } and a lower p50.
board-scored = Scored by { $signature }, fingerprint { $fingerprint }.
board-skipped = Files that were skipped
board-notes = Notes
board-not-ranked = { $run } (not ranked)
board-yes = yes
board-other-version = It was recorded for another version of the evaluation set.
board-rules = Its runs were scored by different rules: there is one table for each rule.
board-missing = It has no row for { $questions }; each counts as nothing retrieved.
board-errors = { $retrievals } failed; each counts as nothing retrieved.
board-leaks = It is not ranked: it retrieved forbidden documents for { $questions }.
board-scatter = { $key } against median latency
board-scatter-note = { $key } against median latency; filled: on the frontier.
board-footer = Written by krag-eval { $version }.
column-run = run
column-note = what to know
column-file = file
column-reason = why
column-board-difference = difference
column-frontier = frontier
column-questions-help = Questions for which the run has a row
