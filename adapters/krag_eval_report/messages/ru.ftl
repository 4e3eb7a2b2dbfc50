language-name = Русский
language = Язык
theme-dark = Тёмная
theme-light = Светлая
footer = Создано в krag-eval { $version }. Этой странице не нужна сеть, и она ничего не отправляет.

## The first screen: report.html.j2, overview.py

show-queries = Показать вопросы

## Search, filters and the list: filters.js, controls.js, list.js, means.js, keys.js

## A question: query.js, documents.js, outcomes.js, labels.js

## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation

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
n-gold-document = { $n ->
       [one] { $n } эталонный документ
       [few] { $n } эталонных документа
      *[many] { $n } эталонных документов
    }
n-missed-gold-document = { $n ->
       [one] { $n } ненайденный эталонный документ
       [few] { $n } ненайденных эталонных документа
      *[many] { $n } ненайденных эталонных документов
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
no-value = (нет)
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
outcome-better = лучше
outcome-worse = хуже
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
within-rank = в топ-{ $k }
at-any-rank = ни на одном месте
causes-by = Причины по полю { $field }
gold-documents-of-cause = Эталонные документы: { $cause }
gold-documents = Эталонные документы
column-cause = эталонный документ
column-share-of-gold = доля
column-share-of-gold-help = От всех эталонных документов
cause-found = найденный документ совпадает с ним в пределах отсечки
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
ceiling-recall = сейчас
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

## The folder and the page for labels: view.html.j2, label.html.j2, label.js
