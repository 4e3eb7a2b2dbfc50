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


## Search, filters and the list: queries.html.j2, keys.html.j2, controls.js, chips.js, list.js, row.js, means.js, address.js

questions-title = Questions
questions-need-script = Searching the questions needs JavaScript, which is disabled. The other parts of this page are complete without it.
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
slices = Slices
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


## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation


## The folder and the page for labels: view.html.j2, label.html.j2, label.js


