language-name = Русский
language = Язык
theme-dark = Тёмная
theme-light = Светлая
footer = Создано в krag-eval { $version }. Этой странице не нужна сеть, и она ничего не отправляет.

## The first screen: report.html.j2, overview.py

view-summary = Сводка
view-questions = Вопросы
view-details = Подробно
views = Разделы
skip = Перейти к вопросам
search-questions = Поиск по вопросам
needs-script = Для поиска и фильтров нужен JavaScript, а он отключён. Всё остальное доступно и без него.
size-of-report = { $n ->
       [one] { $n } вопрос
       [few] { $n } вопроса
      *[many] { $n } вопросов
    }, { $runs ->
       [one] { $runs } прогон
       [few] { $runs } прогона
      *[many] { $runs } прогонов
    }
show = Показать
show-questions = Показать вопросы
show-questions-of = Показать вопросы: { $sentence }
more-alarms = { $n ->
       [one] Ещё { $n } такое предупреждение
       [few] Ещё { $n } таких предупреждения
      *[many] Ещё { $n } таких предупреждений
    }
warnings = { $n ->
       [one] { $n } замечание о расчёте метрик
       [few] { $n } замечания о расчёте метрик
      *[many] { $n } замечаний о расчёте метрик
    }
board = Таблица результатов
board-of = по { $key }; прогонов: { $n }
board-run = Прогон
board-against = Относительно базы
board-p50 = p50, мс
board-p95 = p95, мс
board-n = Вопросы
interval-title = 95%-й интервал
mark-best = лучшее среднее
mark-close = возможно, не хуже
mark-baseline = база
mark-void = вне рейтинга
board-failed = ошибок: { $n }
mark-frontier = граница Парето
mark-frontier-help = Граница Парето: ни один другой прогон не даёт такое же или лучшее качество меньшей ценой и не даёт лучшее качество не дороже.
not-compared = не сравнивалось
outcome-better = лучше
outcome-worse = хуже
outcome-same = одинаково
outcome-unresolved = неясно
foot-band = Полоса: 95%-й интервал среднего.
foot-baseline = Пунктир: базовый прогон.
foot-verdict = По тесту с поправкой: ▲ лучше, ▼ хуже, = одинаково; ○ по этим вопросам не определить.
foot-bold = Полужирным: лучшее в столбце.
scores = Метрики
scores-about = полоса: 95%-й интервал
measure = Метрика
value = Значение
mean-title = Среднее
difference-title = Разница
won-lost = Вопросы: выиграно, вничью, проиграно
won-lost-about = { $key }, вопросов:
word-won = выиграно
word-tied = вничью
word-lost = проиграно
changed-documents = Эталонные документы: что изменилось
changed-gained = теперь найдены, раньше нет
changed-dropped = теперь не найдены, раньше были
changed-queries = Вопросов:
within-all = на любом месте
within-rank = в топ-{ $k }
of-gold = эталонных документов:
reasons = Почему эталонные документы не найдены
reasons-of = Здесь показаны пропуски прогона { $name }.
reasons-total = Не найдено
reason = Причина
missed-retriever_error = Поиск завершился ошибкой
missed-nothing_retrieved = Пустая выдача
missed-crowded_out = Вытеснен повторами
missed-ranked_below_k = Найден, но ниже топ-{ $k }
missed-other_id = Найден под другим идентификатором
missed-in_longer_text = Внутри более длинного текста
missed-cut = Разрезан границей фрагмента
missed-piece = Найдена только часть
missed-near_miss = Похожий текст, но не совпадает
missed-wrong_chunk = Другой фрагмент того же документа
missed-never_retrieved = Не найден вообще
missed-not_cited = Найден, но не процитирован
missed-never_searched_for = Его не искали
missed-searched_in_vain = Искали безуспешно
losses = Где конвейер их потерял
fate-lost-in = Потерян на этапе { $stage }
fate-below-k = Сохранён, но ниже топ-{ $k }
fate-not-in-corpus = Нет в корпусе
fate-not-retrieved = Не найден ни одним первым этапом
ceilings = Какой могла бы быть полнота
ceiling-recall = сейчас
ceiling-without-repeats = без повторов
ceiling-best-order = в лучшем порядке, не больше
slices = Срезы
slice = Срез
no-slice = (нет)
slices-foot = ▲ ▼: вывод по самому срезу с поправкой на все срезы отличает его от базы.
slices-foot-all = ▲ ▼: срез достоверно выше или ниже среднего по всем вопросам, с поправкой на все срезы.
slices-more = Ещё { $n } в разделе «Подробно»
frontier = Качество и его цена
frontier-help = Каждый прогон — точка: качество растёт вверх, цена вправо. Те же числа есть в таблице результатов.
differences = Разница
differences-about = полоса: 95%-й интервал; пунктир: разницы нет
missed = Вопросы с пропусками
missed-more = Ещё { $n } не показано.
rank-none = не найден
rank-found = { $rank }
rank-low = ({ $rank })
matrices = Метрики по отсечкам
verdict-undefined = Ни одно значение не определено
verdict-none-ranked = Ни один прогон нельзя использовать: во всех утечка
verdict-finds = { $a }: найдено эталонных документов { $n } из { $gold }
verdict-finds-within = { $a }: в топ-{ $k } найдено эталонных документов { $n } из { $gold }
verdict-both = { $a } и лучше, и хуже, чем { $b }
verdict-better = { $a } лучше, чем { $b }
verdict-worse = { $a } хуже, чем { $b }
verdict-better-in = { $a } лучше, чем { $b }, по { $key }
verdict-worse-in = { $a } хуже, чем { $b }, по { $key }
verdict-equal = { $a } и { $b }: одинаковые значения на всех вопросах
verdict-same = { $a } и { $b } различаются не больше чем на { VALUE($margin) }
verdict-open = По этим вопросам { $a } и { $b } не различить
verdict-highest = Самый высокий { $key } ({ VALUE($value) }): { $a }
verdict-lowest = Самый низкий { $key } ({ VALUE($value) }): { $a }
verdict-highest-tied = Самый высокий { $key } ({ VALUE($value) }): { $a } и ещё { $others }
verdict-lowest-tied = Самый низкий { $key } ({ VALUE($value) }): { $a } и ещё { $others }
support-value = { $name }: { $key } = { VALUE($value) } ({ $n ->
       [one] по { $n } вопросу
       [few] по { $n } вопросам
      *[many] по { $n } вопросам
    }).
support-value-interval = { $name }: { $key } = { VALUE($value) } (95%-й интервал от { VALUE($low) } до { VALUE($high) }, { $n ->
       [one] по { $n } вопросу
       [few] по { $n } вопросам
      *[many] по { $n } вопросам
    }).
support-missing = Хотя бы один документ не найден: вопросов { $missing } из { $n } с эталонными документами.
support-from-to = { $key }: { VALUE($before) } → { VALUE($after) }. Вопросов { $n }: выиграно { $won }, вничью { $tied }, проиграно { $lost }.
support-from-to-interval = { $key }: { VALUE($before) } → { VALUE($after) }, разница { VALUE($difference) } (95%-й интервал от { VALUE($low) } до { VALUE($high) }). Вопросов { $n }: выиграно { $won }, вничью { $tied }, проиграно { $lost }.
support-also-better = Тоже лучше: { $keys }.
support-also-worse = Тоже хуже: { $keys }.
support-better = Лучше: { $keys }.
support-worse = Хуже: { $keys }.
support-latency = Медианная задержка: { VALUE($ours) } мс против { VALUE($theirs) } мс.
support-better-than = Достоверно лучше, чем { $names }.
support-better-than-more = Достоверно лучше, чем { $names } и ещё { $more }.
support-close = По этим вопросам не отличить (возможно, не хуже): { $names }.
support-close-more = По этим вопросам не отличить (возможно, не хуже): { $names } и ещё { $more }.
support-many-better = Лучше, чем { $baseline }, по { $key }: { $names }.
support-many-better-more = Лучше, чем { $baseline }, по { $key }: { $names } и ещё { $more }.
support-many-worse = Хуже, чем { $baseline }, по { $key }: { $names }.
support-many-worse-more = Хуже, чем { $baseline }, по { $key }: { $names } и ещё { $more }.
alarm-left-out = Этот прогон не участвует в рейтинге.
alarm-forbidden = Не используйте { $name }: в выдаче запрещённые документы
alarm-forbidden-evidence = Запрещённый документ получен: вопросов { $n } из { $of }. Первый: { $first }.
alarm-questions = Не используйте метрики { $name }: вопросы попали в индекс
alarm-questions-evidence = Документ на первом месте дословно совпадает с вопросом: вопросов { $n } из { $of } с эталонными документами.
alarm-questions-remedy = Удалите вопросы из индекса и повторите поиск.
alarm-failed = { $name }: ошибок поиска { $n } из { $of }, из них с ответом { $gold }
alarm-failed-count = Они считаются пустым результатом.
alarm-failed-means = Поэтому { $key } = { VALUE($value) }; по вопросам без ошибок ({ $n }) — { VALUE($other) }.
alarm-failed-error = { $n } из { $of } с ошибкой { $error }. Повторите прогон, прежде чем сравнивать.
alarm-empty = { $name }: ничего не найдено по { $n } из { $of } вопросов с эталонными документами
alarm-no-match = { $name }: ни один найденный документ не совпадает с эталонным
alarm-no-match-remedy = Проверьте идентификаторы, тексты и метод сопоставления.
fact-cause = { $name }, самая частая причина пропусков: { $why } ({ $cause }), { $n } из { $of } ненайденных эталонных документов.
fact-cause-within = { $name }, самая частая причина пропусков в топ-{ $k }: { $why } ({ $cause }), { $n } из { $of } ненайденных эталонных документов.
fact-stage = { $name }: на этапе { $stage } потеряно эталонных документов { $n } из { $of }.
fact-gained = Эталонные документы, которые находит { $name } и не находит { $baseline }: { $n } (вопросов: { $queries }).
fact-gained-within = Эталонные документы, которые в топ-{ $k } находит { $name } и не находит { $baseline }: { $n } (вопросов: { $queries }).
fact-lost = Эталонные документы, которые не находит { $name } и находит { $baseline }: { $n } (вопросов: { $queries }).
fact-lost-within = Эталонные документы, которые в топ-{ $k } не находит { $name } и находит { $baseline }: { $n } (вопросов: { $queries }).
fact-slice-worse = Хуже: { $field } = { $value }, { $key } у { $name } { VALUE($difference) } (95%-й интервал от { VALUE($low) } до { VALUE($high) }, вопросов: { $n }).
fact-slice-below = { $name }: достоверно ниже среднего. { $field } = { $value }, { $key } { VALUE($mean) } (вопросов: { $n }); по всем { VALUE($all) }.
fact-slice-above = { $name }: достоверно выше среднего. { $field } = { $value }, { $key } { VALUE($mean) } (вопросов: { $n }); по всем { VALUE($all) }.
gate-status = Проверка { $name }: { $status }

unit-ms = мс

## Search, filters and the list: queries.html.j2, keys.html.j2, controls.js, chips.js, list.js, row.js, means.js, address.js

questions-title = Вопросы
filter-questions = Фильтр вопросов
search-label = Поиск
search-placeholder = Вопросы, документы, идентификаторы
chips-label = Фильтры
add-filter = + фильтр
view-options = Вид
view-title = Что показано в списке
reset = Сбросить
filters-title = Фильтры
filter-cause-short = причина
filter-state = Состояние
filter-in = В прогоне
filter-label = Метки
filter-change = Изменение
filter-metric = Метрика
filter-of = у прогона
filter-least = не меньше
filter-most = не больше
filter-found = Найдено в
filter-missed = Пропущено в
view-shown = Сравнить
view-against = с
view-order = Порядок
view-columns = Столбцы
view-all-runs = Отметки всех прогонов
all = все
any-run = любой прогон
against-nothing = ни с чем
no-value = (нет)
cause-any = любой пропуск
cause-none = без пропусков
cause-found = что-то найдено
state-failed = ошибка поиска
state-empty = ничего не найдено
state-no-gold = нет эталонных документов
state-no-gold-empty = нет эталонных документов, ничего не найдено
state-leak = найден запрещённый документ
labelled-any = с метками или заметками
labelled-none = без меток
labelled-gold = есть документ с меткой «эталонный»
labelled-not-gold = есть документ с меткой «не эталонный»
labelled-note = с заметкой
change-any = любые два прогона различаются
change-differs = различается
change-better = стало лучше
change-worse = стало хуже
change-same = без изменений
order-worst = сначала худшие
order-place = как в наборе
order-columns = по столбцам
difference = разница
cut-off = Отсечка k
as-reported = Как в отчёте
copy-link = Скопировать ссылку
copied = Скопировано
not-copied = Браузер не разрешает этой странице копировать. Ссылка есть в адресной строке.
save-table = Скачать как CSV
save-set = Скачать как набор
save-set-help = Вопросы из списка в JSONL: набор, который читает krag-eval evaluate
nothing-matches = Нет вопросов, подходящих под эти фильтры.
count-all = { $all ->
       [one] { $all } вопрос
       [few] { $all } вопроса
      *[many] { $all } вопросов
    }
count-of = { $shown } из { $all ->
       [one] { $all } вопроса
       [few] { $all } вопросов
      *[many] { $all } вопросов
    }
count-with = «{ $text }» в вопросе или документе: { $shown } из { $all ->
       [one] { $all } вопроса
       [few] { $all } вопросов
      *[many] { $all } вопросов
    }
count-searching = Ищем «{ $text }», вопросов: { $all } …
chip-all = Все { $n }
chip-slice = { $field }: { $value }
chip-by = { $what }, { $run }
chip-missed = Пропущено
chip-missed-by = Пропуски: { $run }
chip-missed-by-all = Пропущено во всех прогонах
chip-lost = Потери: { $run }
chip-lost-help = Эталонные документы, которые находит { $baseline } и не находит { $run }
chip-won = Выигрыш: { $run }
chip-won-help = Эталонные документы, которые находит { $run } и не находит { $baseline }
chip-found-by = Найдено: { $run }
chip-found-by-all = Найдено во всех прогонах
chip-differ = Прогоны различаются
chip-change = { $key }, { $run } относительно { $baseline }: { $what }
chip-alone = Только { $run }
chip-at-least = { $key } у { $of } не меньше { $least }
chip-at-most = { $key } у { $of } не больше { $most }
chip-between = { $key } у { $of } от { $least } до { $most }
chip-no-gold = Без ответа
chip-failed = Ошибка
chip-leak = Запрещённый документ
chip-labelled = С метками
chip-remove = Убрать фильтр «{ $label }»
column-id = ID
column-number = №
column-question = Вопрос
column-gold = Эталон
column-misses = Почему пропущено
column-ranks = Места
column-found-by = Найдено в
found-by-of = { $n } из { $of }
sort-by = Сортировать по: { $name }
row-open = Показать эталонные документы здесь
row-close = Скрыть эталонные документы
open-question = Открыть вопрос
and-more = и ещё { $n }
mark-found = найден на месте { $rank }
mark-below = ниже отсечки, место { $rank }
mark-missing = не найден
mark-failed = ошибка поиска
mark-none = нет эталонных документов
marks-legend = Одна отметка — один эталонный документ:
legend-found = найден на этом месте
legend-below = ниже отсечки
legend-missing = не найден
legend-move = перейти
legend-unfold = раскрыть
legend-open = открыть
legend-keys = все клавиши
mean = среднее
mean-of-listed = { $n ->
       [one] { $key } по { $n } вопросу из списка
       [few] { $key } по { $n } вопросам из списка
      *[many] { $key } по { $n } вопросам из списка
    }
mean-of-all = (по всем { $n }: { $means })
means-of = { $n ->
       [one] Средние по { $n } вопросу из списка с эталонными документами, k = { $k }
       [few] Средние по { $n } вопросам из списка с эталонными документами, k = { $k }
      *[many] Средние по { $n } вопросам из списка с эталонными документами, k = { $k }
    }
run = прогон
metric = метрика
texts-missing-gold = Нет текстов эталонных документов: известны только идентификаторы.
texts-missing-retrieved = Нет текстов найденных документов: известны только идентификаторы.
texts-missing-all = Нет текстов эталонных и найденных документов: известны только идентификаторы.
no-metric-defined = Ни у одного вопроса нет эталонных документов, поэтому ни одна метрика не определена.
asked-in-vain = Адрес просит то, чего нет в этом отчёте: { $what }.
vain-question = вопрос { $name }
vain-number = вопрос номер { $n }
keys-title = Клавиши
keys-in-list = В списке
keys-in-question = В вопросе
key-search = поиск
key-escape-search = очистить поиск, затем выйти из него
key-row = следующий и предыдущий вопрос
key-page = перемещение по списку
key-unfold = показать эталонные документы в списке
key-open = открыть вопрос
key-next-miss = следующий пропуск
key-question = вопрос
key-document = документ
key-gold = эталонный
key-not-gold = не эталонный
key-undo = отменить
key-list = список
key-close = вернуться к списку
key-help = эта подсказка
close = Закрыть

## A question: query.js, documents.js, outcomes.js, strips.js, labels.js

not-in-list = нет в списке
place-in-list = { $n } из { $of }
previous-question = Предыдущий вопрос
next-question = Следующий вопрос
close-escape = Закрыть (Escape)
question-as-text = Вопрос в виде текста
next-miss = Следующий пропуск
next-miss-help = Следующий вопрос с ненайденными эталонными документами (N)
copy-as-text = Скопировать как текст
print = Печать
lead-no-gold = На этот вопрос не отвечает ни один эталонный документ, поэтому метрики не определены.
lead-one = { $run }: найдено эталонных документов { $n } из { $of }.
lead-two = Эталонных документов: { $of }. Найдено: { $one } — { $n }, { $other } — { $m }.
lead-many = Прогонов { $runs }: все эталонные документы ({ $of }) находят { $every }, часть — { $some }, ни одного — { $none }.
expected-answer = Ожидаемый ответ
answer-given = Полученный ответ
answer-given-by = Ответ системы { $run }
scores-of-answer = Оценки ответа
judge-said = Что сказал судья
retriever-raised = { $run }: ретривер завершился ошибкой
values = Значения
all-values = Все значения: { $n }
gold-documents = Эталонные документы
no-gold-documents = Эталонных документов нет.
nothing-retrieved = Ничего не найдено.
which-ranking = Какая выдача показана
legend-marked = выделено
legend-shared = слова, общие для эталонных и найденных документов
legend-dotted = пунктир
legend-of-question = слова вопроса
text-question-id = Вопрос { $id }
text-question = Вопрос: { $value }
text-answer = Ожидаемый ответ: { $value }
text-found = найден: { $where }
text-retrieved-by = Выдача: { $run }
relevant = релевантен
search-number = Поиск { $n }
no-text = Текста нет.
show-all-characters = Показать все символы: { $n }
gold-number = Эталон { $n }
grade = степень { VALUE($grade) }
rank = место { $rank }
rank-of-search = место { $rank } в поиске { $search }
fate-found = { $where }
fate-below = { $where }, ниже отсечки { $k }
fate-crowded-out = { $where }, ниже отсечки { $k }; вытеснен повторами и почти дубликатами выше
fate-not-cited = { $where }, но ответ на него не ссылается
fate-not-counted = не учитывается, степень 0
fate-repeat = то же, что эталон { $n }
fate-alternative = замена для эталона { $n }
matched-by = метод: { $method } ({ VALUE($similarity) })
match-of-gold = эталон { $n }, метод: { $method } ({ VALUE($similarity) })
method-id = ID
method-text = текст
method-containment = вхождение
method-embedding = эмбеддинги
method-span = место
more-runs = { $n ->
       [one] ещё { $n } прогон
       [few] ещё { $n } прогона
      *[many] ещё { $n } прогонов
    }
stages = Этапы
stage-kept = Сохранён на всех этапах.
stage-not-retrieved = Его не нашёл ни один поиск конвейера.
stage-below-k = На последнем этапе оказался ниже отсечки.
stage-not-in-corpus = Его нет в корпусе.
stage-lost-in = Потерян на этапе { $stage }.
span-legend = найдено в пределах отсечки:
span-legend-of = { $run } находит в пределах отсечки:
span-underlined = подчёркнуто
span-wave = волнистой линией
span-missed = пропущено
nearest-text = Ближайший текст: { $where }
nearest-text-of = Ближайший текст: { $run }, { $where }
similarity = сходство { VALUE($similarity) }
forbidden = запрещён
score = оценка { $score }
cut-off-line = Отсечка { $k }: ниже не считается
earned-repeats = повтор: { $where }
earned-grade-0 = не релевантен, степень 0
earned-no-credit = релевантен, не засчитан
earned-credit = засчитан
moved-new = новый
moved-stays = на месте
moved-up = выше на { $n }
moved-down = ниже на { $n }
moved-gone = пропал
label = Метка
label-gold = Это эталонный документ
label-not-gold = Это не эталонный документ
label-grade = Степень { VALUE($grade) }
label-names-text = Идентификатора нет: метка указывает на текст.
no-label-no-id = Метку поставить нельзя: у документа нет идентификатора.
no-label-nothing = Метку поставить нельзя: у документа нет ни идентификатора, ни текста.
labels-impossible = Разметка невозможна: { $why }.
note-on-question = Заметка к вопросу
labels-given = { $n ->
       [one] { $n } метка
       [few] { $n } метки
      *[many] { $n } меток
    }
labels-and-notes = { $n ->
       [one] { $n } метка
       [few] { $n } метки
      *[many] { $n } меток
    } и { $notes ->
       [one] { $notes } заметка
       [few] { $notes } заметки
      *[many] { $notes } заметок
    }
labels-not-written = { $labels }: не записано в { $file }
labels-being-written = { $labels }: записывается в { $file }
labels-written = { $labels }: записано в { $file }
labels-downloaded = { $labels }: скачано
labels-not-downloaded = { $labels }: не скачано
labels-not-kept = Этот браузер их не сохраняет: скачайте, прежде чем закрыть страницу.
labels-refused = Сервер не принял последнее изменение: { $why }
labels-written-here = Метки записываются в { $file } на этом компьютере.
undo = Отменить
download = Скачать
forget = Забыть
ask-to-forget = Забыть { $labels }?
ask-to-forget-file = Забыть { $labels } и удалить из { $file }?
yes-forget = Да, забыть
keep = Оставить

## Sections and tables: sections, and krag_eval/analysis, krag_eval/evaluation

# Counts and numbers

n-query = { $n ->
       [one] { $n } вопрос
       [few] { $n } вопроса
      *[many] { $n } вопросов
    }
n-question = { $n ->
       [one] { $n } вопрос
       [few] { $n } вопроса
      *[many] { $n } вопросов
    }
n-retrieval = { $n ->
       [one] { $n } поиск
       [few] { $n } поиска
      *[many] { $n } поисков
    }
n-search = { $n ->
       [one] { $n } поиск
       [few] { $n } поиска
      *[many] { $n } поисков
    }
n-cluster = { $n ->
       [one] { $n } кластер
       [few] { $n } кластера
      *[many] { $n } кластеров
    }
interval = от { VALUE($low) } до { VALUE($high) }
percent = { VALUE($x) } %
milliseconds = { VALUE($x) } мс
seconds = { VALUE($x) } с
sentences = { $before } { $after }
some-and-more = { $ids } и ещё { $n }
of-system = { $title }: { $system }
of-systems = { $systems }: { $reason }
report-title = { $systems }: { $what }

# Scores

summary-title = Метрики
no-query = Вопросов нет, поэтому ни одно значение не определено.
no-gold = Ни у одного вопроса нет эталонных документов, поэтому ни одно значение не определено: везде прочерк.
no-gold-at-level = Ни у одного вопроса нет эталонных документов этого уровня, поэтому ни одно значение не определено: везде прочерк.
undefined-left-out = Вопросы, для которых значение не определено (например, без ответа), в среднем не учитываются: { $n }.
no-texts-retrieved = У найденных документов нет текста, только идентификаторы, поэтому отчёт не может показать их тексты.
no-texts-gold = У эталонных документов нет текста, только идентификаторы, поэтому отчёт не может показать их тексты.
intervals-about = Интервалы — это 95-процентные доверительные интервалы среднего.
value-of = Значение для { $system }
column-95-interval = 95%-й интервал
interval-of = 95%-й доверительный интервал значения для { $system }
counts-title = Что оценено: { $queries }
column-count-queries = вопросы
column-count-queries-help = Оценённые вопросы
column-count-failed = ошибки
column-count-failed-help = Поиски, завершившиеся ошибкой; считаются пустым результатом
column-count-without_an_answer = без ответа
column-count-without_an_answer-help = Вопросы без эталонных документов
column-count-other_level = другой уровень
column-count-other_level-help = Вопросы, эталон которых известен только на другом уровне (фрагмент или документ): определена только метрика doc_hit
column-count-unmatchable_gold = несопоставимые эталонные
column-count-unmatchable_gold-help = Эталонные документы без идентификатора, текста или места, нужных методу; они никогда не совпадают
column-count-unmatchable_retrieved = несопоставимые найденные
column-count-unmatchable_retrieved-help = Найденные документы без идентификатора, текста или места, нужных методу; они никогда не совпадают

# Columns of several tables

column-system = система
column-metric = метрика
column-undefined = не определено
column-undefined-help = Вопросы, не учтённые в среднем
column-mean = среднее
column-share = доля
column-meaning = что это значит
column-questions = вопросы
column-queries = вопросы
column-name = название

# The comparison

comparison-title = Сравнение с базовой системой: { $baseline }
all-pairs-title = Сравнение всех пар
all-systems = { $key }: все системы
all-pairs = { $key }: все пары
against = { $system } против { $baseline }
letters-note = Системы с общей буквой неразличимы.
column-letters = буквы
column-pair = пара
column-effect_size = размер эффекта
column-effect_size-help = g Хеджеса: средняя разница, делённая на стандартное отклонение разниц
column-baseline = база
column-baseline-help = Среднее базовой системы
column-here = эта система
column-here-help = Среднее этой системы
column-difference = разница
column-difference-help = Разница двух средних
column-diff = разница
column-interval = интервал
column-interval-help = Доверительный интервал разницы
column-p_holm = p
column-p_holm-help = Двусторонний рандомизационный тест с поправкой на все проверки
column-won_tied_lost = +/=/-
column-won_tied_lost-help = Вопросы: выиграно, вничью, проиграно
column-verdict = вывод
not-resolved = не установлено
no-difference = разница не больше { VALUE($margin) }
unresolved = { $queries-n ->
       [one] по { $queries-n } вопросу разницу не установить
       [few] по { $queries-n } вопросам разницу не установить
      *[many] по { $queries-n } вопросам разницу не установить
    }
unresolved-in-clusters = разницу не установить: { $queries }, { $clusters }
verdict-remark = { $verdict } ({ $remark })
could-be = можно от { VALUE($size) }
by-less-than = меньше чем на { VALUE($margin) }
reason-p = p = { VALUE($p) }
reason-includes-0 = { $p }, но интервал включает 0
reason-corrected = { $p } без поправки и { VALUE($adjusted) } с поправкой (всего проверок: { $n })
reason-excludes-0 = интервал не включает 0, но { $p }
nothing-compared = Ни у одного вопроса нет значений в обеих системах, сравнивать нечего: везде прочерк.
failed-in-comparison = { $system }: ошибок поиска — { $failed-n }; считается, что ничего не найдено.
left-out = Без значения (например, без эталонных документов): { $queries }; не учитываются.
of-resamples = { $n ->
       [one] { $n } повторной выборке
       [few] { $n } повторным выборкам
      *[many] { $n } повторным выборкам
    }
of-random-signs = { $n ->
       [one] случайным знакам { $n } кластера
       [few] случайным знакам { $n } кластеров
      *[many] случайным знакам { $n } кластеров
    }
by-holm = методом Холма
by-tukey = методом Тьюки (HSD) по всем парам
between-runs = {" "}Оба учитывают разброс между прогонами одной системы.
unseen-clusters = {" "}До { VALUE($share) } % всех кластеров могут быть такого вида, которого среди этих { $n } нет.
how-tested = Интервалы { VALUE($confidence) } % построены по { $sampled }.{ $clusters } p: двусторонний рандомизационный тест ({ $rounds } повторов, если он не точный) с поправкой { $adjusted } (проверок: { $tests }; в срезах — все по полю), значимо до { VALUE($level) }.{ $runs } +/=/-: вопросы выигранные, вничью и проигранные. Начальное число генератора { $seed }.

# Slices

slices-title = По срезам
slices-about = Каждое среднее считается по тем вопросам среза, для которых оно определено; их число указано в таблице.
by-field = По полю { $field }
key-by-field = { $key } по полю { $field }
column-defined = определено
column-defined-help = Вопросы со значением

# Causes

causes-title = Почему документы не найдены
causes-about = У каждого эталонного документа, не найденного { $within }, одна причина: первая подходящая из списка.
at-any-rank = ни на одном месте
causes-by = Причины по полю { $field }
gold-documents-of-cause = Эталонные документы: { $cause }
gold-documents-title = Эталонные документы
column-cause = эталонный документ
column-share-of-gold = доля
column-share-of-gold-help = От всех эталонных документов
found-within-cut-off = найденный документ совпадает с ним в пределах отсечки
cause-retriever_error = ретривер завершился ошибкой
cause-nothing_retrieved = ничего не найдено
cause-crowded_out = без повторов и почти дубликатов выше он попал бы в пределы отсечки
cause-ranked_below_k = найден, но ниже отсечки
cause-other_id = тот же текст найден под другим идентификатором
cause-in_longer_text = содержится в найденном тексте
cause-cut = разрезан границей фрагмента: в найденном тексте только его начало или конец
cause-piece = найдена только его часть, без начала и конца
cause-near_miss = найденный текст похож, но не совпадает с ним
cause-wrong_chunk = найден другой фрагмент того же документа
cause-never_retrieved = ничего похожего не найдено
cause-not_cited = найден, но ответ не ссылается ни на что подходящее
cause-never_searched_for = ни один поиск сессии его не искал
cause-searched_in_vain = один из поисков сессии его искал, но ничего похожего не найдено
ceilings-title = Какой могла бы быть метрика { $key }
ceiling-with_perfect_reranking = не больше, если те же документы расставить наилучшим образом
ceiling-without_repeats = без документов, повторяющих более ранние

# Stages

stages-title = Этапы
stages-about = У каждой эталонной единицы (один документ или любой из нескольких) одна судьба. Полнота этапа считается по всем документам, которые он вернул; потолок — полнота, возможная, если следующие этапы ничего не потеряют; выигрыш — насколько полнота могла бы вырасти, если бы этап не потерял ничего из полученного.
fates-title = Что стало с эталонными единицами
fates-note = доля: среднее по вопросам; доля kept и есть { $recall }
column-fate = судьба
column-needs = единицы
column-needs-of-slice = единицы
column-needs-of-slice-help = Эталонные единицы
column-such-as = например
fate-not_in_corpus = в корпусе нет ничего подходящего
fate-not_retrieved = ни один этап его не вернул
fate-below_k = последний этап вернул его ниже отсечки
fate-kept = последний этап вернул его в пределах отсечки
fate-lost = этап получил его, но не вернул
column-stage = этап
column-inputs = вход
column-inputs-help = Этапы, документы которых он получил
column-n_questions = вопросы
column-n_questions-help = Вопросы, прошедшие через этап
column-depth = документы
column-depth-help = Сколько документов он вернул в среднем
column-recall = полнота
column-recall-help = По всем документам, которые он вернул
column-ceiling = потолок
column-ceiling-help = Полнота, если все следующие этапы ничего не потеряют
column-n_lost = потеряно
column-n_lost-help = Единицы, которые этап получил и не вернул и которых не получил ни один следующий этап
column-gain = выигрыш, не больше
column-gain-help = Насколько выросла бы полнота, если бы этап не потерял ничего из полученного
funnel-failed = Ретривер завершился ошибкой ({ $questions }): { $ids }. Ничего не найдено.
funnel-missing = В прогоне нет строк ({ $questions }): { $ids }. Ничего не найдено.
funnel-searches-failed = В сессиях завершились ошибкой и ничего не вернули: { $searches }.
funnel-lists = В строках разные списки этапов, всего { $n }, например { $shown }. Этап определяется по имени, а его полнота считается по вопросам, которые через него прошли.

# Questions without an answer, parameters, signatures

negatives-title = Вопросы без ответа
negatives-about = В остальных метриках они не учитываются: правильный результат — пустой список.
column-unanswered = вопросы
column-unanswered-help = Вопросы без эталонных документов
column-empty = пустой результат
column-empty-help = Вопросы, по которым ничего не найдено
column-empty_share = доля
column-empty_share-help = От вопросов без ответа
column-mean_retrieved = документов в среднем
parameters-title = Как получены прогоны
parameters-table = Параметры
recorded-table = Записано при прогоне
latency-table = Задержка
column-calls = вызовы
column-calls-help = Успешные вызовы, каждый измерен отдельно
column-p50 = p50
column-p95 = p95
column-p99 = p99
column-max = макс.
column-failed = ошибки
column-failed-help = Вопросы, на которых ретривер завершился ошибкой
signatures-title = Как считались метрики
signatures-about = Сравнимы только метрики с одинаковой сигнатурой: в ней перечислены все настройки, от которых зависят числа.
evaluation-set = Набор вопросов: { $name }, { $questions }, отпечаток { $fingerprint }.
unnamed = без названия
column-signature = сигнатура

transitions-within = {" "}(в топ-{ $k })
transitions-why = {" "}({ $causes })
transitions-found = теперь найдено эталонных документов, которые раньше не находились{ $within }: { $n }{ $why }
transitions-found-sentence = Теперь найдено эталонных документов, которые раньше не находились{ $within }: { $n }{ $why }.
transitions-missed = теперь не найдено эталонных документов, которые раньше находились{ $within }: { $n }{ $why }
transitions-missed-sentence = Теперь не найдено эталонных документов, которые раньше находились{ $within }: { $n }{ $why }.
slices-none-worse = ни один срез не стал достоверно хуже
slices-none-worse-sentence = Ни один срез не стал достоверно хуже.
slice-worse = достоверно хуже: { $field } = { $value } ({ $queries }): { $key } { VALUE($difference) } (от { VALUE($low) } до { VALUE($high) })
slice-worse-sentence = Достоверно хуже: { $field } = { $value } ({ $queries }): { $key } { VALUE($difference) } (от { VALUE($low) } до { VALUE($high) }).

# A session of searches, and labels

n-document = { $n ->
       [one] { $n } документ
       [few] { $n } документа
      *[many] { $n } документов
    }
listed = { $before }, { $after }
brought-new = новых: { $n }
brought-nothing = ничего нового
brought-gold = закрывает эталонных: ещё { $n }
brought-all = доказательства полны
labels-of-spans = эталон задан местами в документах, а метки относятся к документам целиком
labels-without-ids = у вопросов нет идентификаторов; постройте отчёт по набору вопросов

overview-title = Коротко

# Details: matrices.py

matrix-baseline = { $name }, база
matrix-no-cut-off = Без отсечки
matrix-cut-off = Отсечка { $k }
matrix-difference = { VALUE($difference) }: { $verdict }

# Plots

plot-hits = Вопросы, по которым что-то найдено
plot-over_k = Метрики в зависимости от отсечки
plot-over_size = Полнота в зависимости от объёма выдачи
plot-over_searches = Полнота по поискам сессии
plot-spread = Значения по отдельным вопросам
plot-sweep = Метрики в зависимости от порога сопоставления
plot-changes = Вопросы относительно базы: выиграно, вничью, проиграно
plot-slices = Средние по срезам
plot-causes = Найденные эталонные документы и причины пропусков
plot-stages = Где потеряны эталонные единицы
plot-about = { $title }{ $of } · { $n ->
    [one] { $n } вопрос
    [few] { $n } вопроса
   *[many] { $n } вопросов
}
plot-of-set = {" "}· { $name }
plot-of = { $name }: { $text }
plot-value = { $key } { VALUE($value) }
plot-value-interval = { $key } { VALUE($value) } (от { VALUE($low) } до { VALUE($high) })
plot-from-to = { $metric }: { VALUE($before) } при k = { $first }, { VALUE($after) } при k = { $last }
plot-all-ranks = все
plot-tokens = { $n } ток.
plot-characters = найдено символов, в среднем
plot-budget = найдено токенов, в среднем
plot-recall-in-characters = полнота { VALUE($value) }, символов в среднем: { $n }
plot-recall-in-tokens = полнота { VALUE($value) }, токенов в среднем: { $n }
plot-searches = запросы поиска
plot-after = { VALUE($before) } после одного поиска, { VALUE($after) } после { $n }
plot-threshold = порог
plot-in-use = текущий порог: { VALUE($at) }
plot-around = не дальше { VALUE($by) } от него
plot-swept = { $key }: { VALUE($before) } при { VALUE($first) }, { VALUE($here) } при { VALUE($used) }, { VALUE($after) } при { VALUE($last) }
plot-values = значений: { $n }
plot-values-undefined = значений: { $n }, не определено: { $undefined }
plot-range = { $low }–{ $high }
plot-median = { $key }: медиана { VALUE($median) }, среднее { VALUE($mean) }, вопросов: { $n }
plot-hit_rate = hit_rate@k: найден хотя бы один эталонный чанк
plot-doc_hit = doc_hit@k: найден один из эталонных документов
plot-gold-documents = эталонные документы
plot-found = найдено
plot-found-within = найдено в топ-{ $k }
plot-cause = { $cause }: { $n }
plot-queries = вопросы
plot-count = { $part } { $n }
plot-fate = { $fate }: { $n } из { $of }
plot-share = { $name }: { VALUE($n) } ({ VALUE($share) })
plot-all-needs = все единицы
plot-after-stage = после { $stage }
plot-in-corpus = есть в корпусе
plot-retrieved = найдены поиском
plot-kept = остались в выдаче

## The folder and the page for labels: view.html.j2, label.html.j2, label.js

folder-about = Отчёты и прогоны этой папки и вложенных папок, сначала новые.
folder-reports = Отчёты
folder-report = Отчёт
folder-says = Главное
folder-date = Дата
folder-file = Файл
folder-no-report = Отчётов пока нет.
folder-queues = Очереди на разметку
folder-queues-about = Клавиши 0, 1 и 2 ставят метку, U отменяет. В терминале:
folder-runs = Прогоны
folder-run = Прогон
folder-runs-about = Прогон оценивается по идентификаторам с настройками по умолчанию. Для других создайте отчёт:
folder-no-set = В папке нет набора вопросов, поэтому эти прогоны нельзя оценить.
folder-score-with = Оценить по набору
folder-labels = Метки
folder-labels-about = Метки, поставленные на этих страницах. Эта команда создаёт с ними новый набор вопросов:
folder-served = krag-eval { $version }, доступно только на этом компьютере.
queue-title = { $name } - разметка
queue-who = Ваше имя
queue-who-hint = если размечают несколько человек
queue-number = Значение на данный момент
queue-labels = Метка
queue-written = Каждая метка записывается в этот файл на этом компьютере, прежде чем появится следующий документ:
queue-served = krag-eval { $version }
queue-key-0 = не релевантен
queue-key-1 = релевантен
queue-key-2 = отвечает полностью
queue-key-u = отменить
queue-key-n = пропустить
queue-fault = Не записано: { $why }. Записанное раньше сохранено. Нажмите клавишу ещё раз или перезапустите krag-eval view.
queue-progress = { $n } из { $of }
queue-progress-pace = { $n } из { $of }, около { $pace } в час
queue-over = Размечено { $n } из { $of }. Больше ничего не осталось.
queue-again = Спросить ещё раз там, где мы расходимся
queue-no-text = Текста нет: ставьте метку по идентификатору.

n-run = { $n ->
       [one] { $n } прогон
       [few] { $n } прогона
      *[many] { $n } прогонов
    }
board-lead-highest = { $file }: { $runs }, { $questions }; сначала самый высокий { $key }. Сам порядок ещё ничего не решает.
board-lead-lowest = { $file }: { $runs }, { $questions }; сначала самый низкий { $key }. Сам порядок ещё ничего не решает.
board-intervals = Интервалы содержат значение с доверием 95 %.
board-differences = Разницы — относительно { $baseline }; выводы учитывают все проверки этой таблицы.
board-frontier = На границе Парето: ни у одного другого прогона нет одновременно лучшего { $key } и меньшего p50.
board-scored = Настройки: { $signature }, отпечаток { $fingerprint }.
board-skipped = Пропущенные файлы
board-notes = Замечания
board-not-ranked = { $run } (вне рейтинга)
board-yes = да
board-other-version = Записан для другой версии набора вопросов.
board-rules = Прогоны оценены по разным правилам: для каждого правила своя таблица.
board-missing = Нет строк: { $questions }; каждый считается пустым результатом.
board-errors = Ошибок поиска: { $retrievals-n }; каждая считается пустым результатом.
board-leaks = Вне рейтинга: запрещённые документы в выдаче ({ $questions }).
board-scatter = { $key } и медианная задержка
board-scatter-note = { $key } и медианная задержка; закрашено: на границе Парето.
board-footer = krag-eval { $version }
column-run = прогон
column-note = что важно знать
column-file = файл
column-reason = почему
column-board-difference = разница
column-frontier = граница Парето
column-questions-help = Вопросы, для которых в прогоне есть строка
