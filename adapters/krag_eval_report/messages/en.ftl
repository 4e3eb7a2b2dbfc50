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




## Search, filters and the list: filters.js, controls.js, list.js, means.js, keys.js




## A question: query.js, documents.js, outcomes.js, labels.js




## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation




## The folder and the page for labels: view.html.j2, label.html.j2, label.js


