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
mark-failed = failed
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
mean = Mean
difference = Difference
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
support-missing = { $missing } of { $n } queries with gold documents miss at least one.
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
fact-gained = Gold documents that { $name } finds and { $baseline } misses: { $n }, in { $queries } queries.
fact-gained-within = Gold documents that { $name } finds within rank { $k } and { $baseline } misses: { $n }, in { $queries } queries.
fact-lost = Gold documents that { $name } misses and { $baseline } finds: { $n }, in { $queries } queries.
fact-lost-within = Gold documents that { $name } misses within rank { $k } and { $baseline } finds: { $n }, in { $queries } queries.
fact-slice-worse = Worse: { $field } = { $value }, { $key } of { $name } { VALUE($difference) } (95 % interval { VALUE($low) } to { VALUE($high) }) over { $n } queries.
fact-slice-below = Surely below the mean of { $name }: { $field } = { $value }, { $key } { VALUE($mean) } over { $n } queries; { VALUE($all) } over all.
fact-slice-above = Surely above the mean of { $name }: { $field } = { $value }, { $key } { VALUE($mean) } over { $n } queries; { VALUE($all) } over all.
gate-status = Gate of { $name }: { $status }



## Search, filters and the list: filters.js, controls.js, list.js, means.js, keys.js




## A question: query.js, documents.js, outcomes.js, labels.js




## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation




## The folder and the page for labels: view.html.j2, label.html.j2, label.js


