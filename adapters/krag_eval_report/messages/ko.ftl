language-name = 한국어
language = 언어
theme-dark = 어둡게
theme-light = 밝게
footer = krag-eval 버전 { $version }에서 만든 페이지입니다. 네트워크가 필요 없으며 아무것도 전송하지 않습니다.

## The first screen: report.html.j2, overview.py

view-summary = 요약
view-questions = 질문
view-details = 상세
views = 화면
skip = 질문으로 건너뛰기
search-questions = 질문 검색
needs-script = 검색과 필터에는 JavaScript가 필요하지만 꺼져 있습니다. 나머지 내용은 JavaScript 없이도 모두 볼 수 있습니다.
size-of-report = 질문 { $n }개, 실행 { $runs }개
show = 보기
show-questions = 질문 보기
show-questions-of = 질문 보기: { $sentence }
more-alarms = 이런 경고 { $n }개 더 있음
warnings = 채점 관련 참고 사항 { $n }개
board = 리더보드
board-of = { $key } 순으로 정렬, 실행 { $n }개
board-run = 실행
board-against = 기준 대비
board-p50 = p50, ms
board-p95 = p95, ms
board-n = 질문
interval-title = 95% 구간
mark-best = 최고 평균
mark-close = 비슷할 수 있음
mark-baseline = 기준
mark-void = 순위 제외
board-failed = { $n }건 실패
mark-frontier = 프런티어
mark-frontier-help = 프런티어: 이보다 비용이 적으면서 품질이 같거나 높은 실행도, 비용이 같거나 적으면서 품질이 더 높은 실행도 없습니다.
not-compared = 비교 안 함
outcome-better = 더 좋음
outcome-worse = 더 나쁨
outcome-same = 같음
outcome-unresolved = 판별 불가
foot-band = 띠: 평균의 95% 구간.
foot-baseline = 점선: 기준 실행.
foot-verdict = 보정한 검정 결과: ▲ 더 좋음, ▼ 더 나쁨, = 같음, ○ 이 질문으로는 판별 불가.
foot-bold = 굵은 글씨: 열에서 가장 좋은 값.
scores = 점수
scores-about = 띠: 95% 구간
measure = 지표
value = 값
mean = 평균
difference = 차이
won-lost = 이긴 질문, 비긴 질문, 진 질문
won-lost-about = { $key }, 질문 수:
word-won = 이김
word-tied = 비김
word-lost = 짐
changed-documents = 달라진 정답 문서
changed-gained = 놓쳤다가 이번에 찾음
changed-dropped = 찾았다가 이번에 놓침
changed-queries = 질문 수:
within-all = 모든 순위 기준
within-rank = 상위 { $k }위 안에서
of-gold = 정답 문서 수:
reasons = 정답 문서를 놓친 이유
reasons-of = { $name }: 놓친 문서 기준입니다.
reasons-total = 놓친 문서
reason = 원인
missed-retriever_error = 검색 실패
missed-nothing_retrieved = 빈 목록
missed-crowded_out = 중복 문서에 밀려남
missed-ranked_below_k = 검색되었지만 { $k }위 아래
missed-other_id = 다른 ID로 검색됨
missed-in_longer_text = 더 긴 본문 안에 있음
missed-cut = 청크 경계에서 잘림
missed-piece = 일부만 검색됨
missed-near_miss = 비슷한 본문이지만 매칭 안 됨
missed-wrong_chunk = 같은 문서의 다른 청크
missed-never_retrieved = 전혀 검색되지 않음
missed-not_cited = 찾았지만 인용 안 됨
missed-never_searched_for = 찾으려는 검색이 없었음
missed-searched_in_vain = 검색했지만 찾지 못함
losses = 파이프라인에서 잃은 단계
fate-lost-in = { $stage } 단계에서 잃음
fate-below-k = 남았지만 { $k }위 아래
fate-not-in-corpus = 코퍼스에 없음
fate-not-retrieved = 첫 단계에서 검색되지 않음
ceilings = 가능한 재현율
ceiling-recall = 현재 값
ceiling-without-repeats = 중복을 뺐을 때
ceiling-best-order = 최적 순서일 때 최대
slices = 슬라이스
slice = 슬라이스
no-slice = (없음)
slices-foot = ▲ ▼: 모든 슬라이스에 대해 보정한 슬라이스 자체의 판정이 기준 대비 차이를 확인한 곳입니다.
slices-foot-all = ▲ ▼: 모든 슬라이스에 대해 보정했을 때 전체 질문 평균보다 확실히 높거나 낮은 슬라이스입니다.
slices-more = 상세 화면에 { $n }개 더 있음
frontier = 품질과 비용
frontier-help = 실행마다 점 하나: 위로 갈수록 품질이 높고 오른쪽으로 갈수록 비용이 큽니다. 같은 수치가 리더보드에 있습니다.
differences = 차이
differences-about = 띠: 95% 구간, 점선: 차이 없음
missed = 정답 문서를 놓친 질문
missed-more = 나머지 { $n }개는 표시하지 않았습니다.
rank-none = 검색 안 됨
rank-found = { $rank }
rank-low = ({ $rank })
matrices = 컷오프별 지표
verdict-none-ranked = 쓸 수 있는 실행이 없음: 모두 정답이 유출됨
verdict-finds = { $a }: 정답 문서 { $gold }개 중 { $n }개를 찾음
verdict-finds-within = { $a }: 상위 { $k }위 안에서 정답 문서 { $gold }개 중 { $n }개를 찾음
verdict-both = { $b } 대비 { $a }: 나아진 지표도 나빠진 지표도 있음
verdict-better = { $b }보다 { $a } 쪽이 더 좋음
verdict-worse = { $b }보다 { $a } 쪽이 더 나쁨
verdict-better-in = { $key }에서 { $b }보다 { $a } 쪽이 더 좋음
verdict-worse-in = { $key }에서 { $b }보다 { $a } 쪽이 더 나쁨
verdict-equal = { $a }, { $b }: 모든 질문에서 점수가 같음
verdict-same = { $a }, { $b }: 차이는 최대 { VALUE($margin) }
verdict-open = 이 질문으로는 { $a }, { $b } 중 어느 쪽이 나은지 판별할 수 없음
verdict-highest = { $key } 최고({ VALUE($value) }): { $a }
verdict-lowest = { $key } 최저({ VALUE($value) }): { $a }
verdict-highest-tied = { $key } 공동 최고({ VALUE($value) }): { $a } 외 { $others }개
verdict-lowest-tied = { $key } 공동 최저({ VALUE($value) }): { $a } 외 { $others }개
support-value = { $name }: 질문 { $n }개의 { $key } 평균은 { VALUE($value) }입니다.
support-value-interval = { $name }: 질문 { $n }개의 { $key } 평균은 { VALUE($value) }(95% 구간 { VALUE($low) } ~ { VALUE($high) })입니다.
support-missing = 정답 문서가 있는 질문 { $n }개 중 { $missing }개에서 하나 이상을 놓쳤습니다.
support-from-to = { $key }: { VALUE($before) } → { VALUE($after) }. 질문 { $n }개 중 이김 { $won }, 비김 { $tied }, 짐 { $lost }.
support-from-to-interval = { $key }: { VALUE($before) } → { VALUE($after) }, 차이 { VALUE($difference) }(95% 구간 { VALUE($low) } ~ { VALUE($high) }). 질문 { $n }개 중 이김 { $won }, 비김 { $tied }, 짐 { $lost }.
support-also-better = 역시 더 좋은 지표: { $keys }.
support-also-worse = 역시 더 나쁜 지표: { $keys }.
support-better = 더 좋은 지표: { $keys }.
support-worse = 더 나쁜 지표: { $keys }.
support-latency = 지연 시간 중앙값: { VALUE($ours) } ms, 기준은 { VALUE($theirs) } ms.
support-better-than = 우연으로 볼 수 없을 만큼 더 좋음(비교 대상: { $names }).
support-close = 이 질문으로는 다음과 구별할 수 없으며, 똑같이 좋을 수 있습니다: { $names }.
support-many-better = { $key }에서 { $baseline }보다 더 좋음: { $names }.
support-many-worse = { $key }에서 { $baseline }보다 더 나쁨: { $names }.
alarm-left-out = 이 실행은 순위에서 제외했습니다.
alarm-forbidden = { $name }: 쓰지 마세요. 검색되면 안 되는 문서가 나옵니다
alarm-forbidden-evidence = 질문 { $of }개 중 { $n }개에서 검색되면 안 되는 문서가 나왔습니다. 첫 번째: { $first }.
alarm-questions = { $name }: 점수를 쓰지 마세요. 인덱스에 질문이 들어 있습니다
alarm-questions-evidence = 정답 문서가 있는 질문 { $of }개 중 { $n }개에서 1위 문서가 질문과 글자까지 똑같습니다.
alarm-questions-remedy = 인덱스에서 질문을 빼고 다시 검색하세요.
alarm-failed = { $name }: 검색 { $of }건 중 { $n }건이 실패했고, 그중 { $gold }건은 정답이 있는 질문입니다
alarm-failed-count = 실패한 검색은 빈 결과로 계산합니다.
alarm-failed-means = 그래서 { $key } 값은 { VALUE($value) }입니다. 실패하지 않은 질문 { $n }개만 보면 { VALUE($other) }입니다.
alarm-failed-error = { $of }건 중 { $n }건의 오류: { $error }. 비교하기 전에 다시 실행하세요.
alarm-empty = { $name }: 정답 문서가 있는 질문 { $of }개 중 { $n }개에서 검색된 문서가 없습니다
alarm-no-match = { $name }: 정답 문서와 매칭되는 검색 결과가 하나도 없습니다
alarm-no-match-remedy = ID, 본문, 매칭 방법을 확인하세요.
fact-cause = { $name }: 놓친 정답 문서 { $of }개 중 가장 많은 { $n }개의 원인은 { $why }({ $cause }).
fact-cause-within = { $name }: 상위 { $k }위 안에서 놓친 정답 문서 { $of }개 중 가장 많은 { $n }개의 원인은 { $why }({ $cause }).
fact-stage = { $name }: 정답 문서 { $of }개 중 { $n }개를 { $stage } 단계에서 잃었습니다.
fact-gained = { $baseline } 쪽은 놓치고 { $name } 쪽만 찾은 정답 문서: { $n }개(질문 { $queries }개).
fact-gained-within = 상위 { $k }위 안에서 { $baseline } 쪽은 놓치고 { $name } 쪽만 찾은 정답 문서: { $n }개(질문 { $queries }개).
fact-lost = { $baseline } 쪽은 찾고 { $name } 쪽은 놓친 정답 문서: { $n }개(질문 { $queries }개).
fact-lost-within = 상위 { $k }위 안에서 { $baseline } 쪽은 찾고 { $name } 쪽은 놓친 정답 문서: { $n }개(질문 { $queries }개).
fact-slice-worse = 더 나쁨: { $field } = { $value }, { $name }의 { $key } 차이 { VALUE($difference) }(95% 구간 { VALUE($low) } ~ { VALUE($high) }, 질문 { $n }개).
fact-slice-below = { $name }: 평균보다 확실히 낮음. { $field } = { $value }, 질문 { $n }개의 { $key } { VALUE($mean) }, 전체는 { VALUE($all) }.
fact-slice-above = { $name }: 평균보다 확실히 높음. { $field } = { $value }, 질문 { $n }개의 { $key } { VALUE($mean) }, 전체는 { VALUE($all) }.
gate-status = { $name } 게이트: { $status }

## Search, filters and the list: filters.js, controls.js, list.js, means.js, keys.js

## A question: query.js, documents.js, outcomes.js, labels.js

## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation

# Counts and numbers

n-query = 질문 { $n }개
n-question = 질문 { $n }개
n-gold-document = 정답 문서 { $n }개
n-missed-gold-document = 놓친 정답 문서 { $n }개
n-retrieval = 검색 { $n }건
n-search = 검색 { $n }건
n-cluster = 클러스터 { $n }개
interval = { VALUE($low) } ~ { VALUE($high) }
percent = { VALUE($x) }%
milliseconds = { VALUE($x) }ms
seconds = { VALUE($x) }초
sentences = { $before } { $after }
some-and-more = { $ids } 외 { $n }개
no-value = (없음)
of-system = { $title }: { $system }
of-systems = { $systems }: { $reason }
report-title = { $systems } · { $what }

# Scores

summary-title = 점수
no-query = 질문이 없어 정의된 값이 없습니다.
no-gold = 정답 문서가 있는 질문이 없어 정의된 값이 없습니다. 모든 값은 줄표로 표시합니다.
no-gold-at-level = 이 수준의 정답 문서가 있는 질문이 없어 정의된 값이 없습니다. 모든 값은 줄표로 표시합니다.
undefined-left-out = 값이 정의되지 않은 질문(예: 정답이 없는 질문)은 평균에서 제외합니다: { $n }개.
no-texts-retrieved = 검색된 문서에는 본문 없이 ID만 있어 리포트에 본문을 표시할 수 없습니다.
no-texts-gold = 정답 문서에는 본문 없이 ID만 있어 리포트에 본문을 표시할 수 없습니다.
intervals-about = 구간은 평균의 95% 신뢰구간입니다.
value-of = { $system }: 값
column-95-interval = 95% 구간
interval-of = { $system }: 값의 95% 신뢰구간
counts-title = 채점 대상: { $queries }
column-count-queries = 질문
column-count-queries-help = 채점한 질문
column-count-failed = 실패
column-count-failed-help = 오류가 난 검색입니다. 빈 결과로 계산합니다
column-count-without_an_answer = 정답 없음
column-count-without_an_answer-help = 정답 문서가 없는 질문
column-count-other_level = 다른 수준
column-count-other_level-help = 정답이 다른 수준(청크 또는 문서)에만 있는 질문입니다. doc_hit 외에는 값이 정의되지 않습니다
column-count-unmatchable_gold = 매칭할 수 없는 정답
column-count-unmatchable_gold-help = 매칭 방법에 필요한 ID, 본문 또는 위치가 없는 정답 문서입니다. 절대 매칭되지 않습니다
column-count-unmatchable_retrieved = 매칭할 수 없는 결과
column-count-unmatchable_retrieved-help = 매칭 방법에 필요한 ID, 본문 또는 위치가 없는 검색 결과입니다. 절대 매칭되지 않습니다

# Columns of several tables

column-system = 시스템
column-metric = 지표
column-undefined = 정의 안 됨
column-undefined-help = 평균에서 제외한 질문
column-mean = 평균
column-share = 비율
column-meaning = 의미
column-questions = 질문
column-queries = 질문
column-name = 이름

# The comparison

comparison-title = 기준 시스템과 비교: { $baseline }
all-pairs-title = 모든 쌍 비교
all-systems = { $key }: 모든 시스템
all-pairs = { $key }: 모든 쌍
against = { $system } 대 { $baseline }
letters-note = 같은 문자가 있는 시스템끼리는 차이를 판별할 수 없습니다.
column-letters = 문자
column-pair = 쌍
column-effect_size = 효과 크기
column-effect_size-help = Hedges' g: 평균 차이를 차이의 표준편차로 나눈 값
column-baseline = 기준
column-baseline-help = 기준 시스템의 평균
column-here = 이 시스템
column-here-help = 이 시스템의 평균
column-difference = 차이
column-difference-help = 두 평균의 차이
column-diff = 차이
column-interval = 구간
column-interval-help = 차이의 신뢰구간
column-p_holm = p
column-p_holm-help = 양측 무작위화 검정. 모든 검정에 대해 보정했습니다
column-won_tied_lost = +/=/-
column-won_tied_lost-help = 이긴 질문, 비긴 질문, 진 질문
column-verdict = 판정
not-resolved = 판별 안 됨
no-difference = { VALUE($margin) }보다 큰 차이 없음
unresolved = 질문 { $queries-n }개로는 판별할 수 없음
unresolved-in-clusters = 클러스터 { $clusters-n }개의 질문 { $queries-n }개로는 판별할 수 없음
verdict-remark = { $verdict }({ $remark })
could-be = { VALUE($size) } 이상이면 가능
by-less-than = 차이 { VALUE($margin) } 미만
reason-p = p = { VALUE($p) }
reason-includes-0 = { $p }, 그러나 구간에 0이 들어 있음
reason-corrected = 단독으로는 { $p }, 검정 { $n }개를 보정하면 { VALUE($adjusted) }
reason-excludes-0 = 구간에 0이 없지만 { $p }
nothing-compared = 두 시스템 모두에 값이 있는 질문이 없어 비교할 수 없습니다. 모든 수는 줄표로 표시합니다.
failed-in-comparison = { $system }: 검색 { $failed-n }건이 실패했습니다. 검색된 문서가 없는 것으로 계산합니다.
left-out = 값이 없는 질문(예: 정답 문서가 없는 질문) { $queries-n }개는 제외했습니다.
of-resamples = 재표본 { $n }개
of-random-signs = 클러스터 { $n }개의 무작위 부호
by-holm = Holm 방법
by-tukey = 모든 쌍에 대한 Tukey HSD 방법
between-runs = {" "}둘 다 한 시스템의 실행 사이 분산을 반영합니다.
unseen-clusters = {" "}전체 클러스터의 최대 { VALUE($share) }%는 이 { $n }개에 나타나지 않은 유형일 수 있습니다.
how-tested = { VALUE($confidence) }% 신뢰구간은 { $sampled }에서 구했습니다.{ $clusters } p: 양측 무작위화 검정(정확 검정이 아니면 { $rounds }회), 보정: { $adjusted }(검정 수: { $tests }, 슬라이스에서는 해당 필드의 모든 검정), { VALUE($level) } 이하이면 유의합니다.{ $runs } +/=/-: 이긴 질문, 비긴 질문, 진 질문의 수. 시드 { $seed }.

# Slices

slices-title = 슬라이스별
slices-about = 각 평균은 슬라이스에서 값이 정의된 질문만으로 계산합니다. 질문 수는 표에 있습니다.
by-field = { $field }별
key-by-field = { $field }별 { $key }
column-defined = 정의됨
column-defined-help = 값이 있는 질문

# Causes

causes-title = 놓친 원인
causes-about = { $within } 찾지 못한 정답 문서마다 원인이 하나씩 있습니다. 목록에서 가장 먼저 해당하는 원인입니다.
at-any-rank = 어떤 순위에서도
causes-by = { $field }별 원인
gold-documents-of-cause = 정답 문서: { $cause }
gold-documents-title = 정답 문서
column-cause = 정답 문서
column-share-of-gold = 비율
column-share-of-gold-help = 전체 정답 문서 대비
found-within-cut-off = 검색된 문서가 컷오프 안에서 매칭됨
cause-retriever_error = 검색기에서 오류 발생
cause-nothing_retrieved = 검색된 문서 없음
cause-crowded_out = 위에 있는 중복 문서와 거의 같은 문서가 없었다면 컷오프 안에 들었을 문서
cause-ranked_below_k = 검색되었지만 컷오프 아래에 있음
cause-other_id = 같은 본문이 다른 ID로 검색됨
cause-in_longer_text = 검색된 본문에 포함되어 있음
cause-cut = 청크 경계에서 잘림: 검색된 본문에 앞부분이나 뒷부분만 있음
cause-piece = 앞부분과 뒷부분 없이 일부만 검색됨
cause-near_miss = 비슷한 본문이 검색되었지만 매칭되지 않음
cause-wrong_chunk = 같은 문서의 다른 청크가 검색됨
cause-never_retrieved = 비슷한 문서가 하나도 검색되지 않음
cause-not_cited = 찾았지만 답변이 이를 충족하는 문서를 인용하지 않음
cause-never_searched_for = 세션의 어떤 검색도 찾으려 하지 않음
cause-searched_in_vain = 세션에서 검색했지만 비슷한 문서가 검색되지 않음
ceilings-title = { $key }: 가능한 최댓값
ceiling-with_perfect_reranking = 같은 문서를 최적 순서로 놓았을 때의 최댓값
ceiling-without_repeats = 앞의 문서와 중복되는 문서를 뺐을 때

# Stages

stages-title = 단계
stages-about = 정답 단위(정답 문서 하나 또는 여러 개 중 하나)마다 결과가 하나씩 있습니다. 단계의 재현율은 그 단계가 돌려준 모든 문서로 계산한 값입니다. 상한은 이후 단계에서 아무것도 잃지 않을 때 가능한 재현율이고, 이득은 그 단계가 받은 것을 하나도 잃지 않았다면 재현율이 최대 얼마나 높아질 수 있는지 나타냅니다.
fates-title = 정답 단위별 결과
fates-note = 비율: 질문별 비율의 평균. kept의 비율이 { $recall }입니다
column-fate = 결과
column-needs = 정답 단위
column-needs-of-slice = 정답 단위
column-needs-of-slice-help = 정답 단위
column-such-as = 예
fate-not_in_corpus = 코퍼스에 매칭되는 문서 없음
fate-not_retrieved = 어떤 단계도 돌려주지 않음
fate-below_k = 마지막 단계가 컷오프 아래로 돌려줌
fate-kept = 마지막 단계가 컷오프 안으로 돌려줌
fate-lost = 그 단계가 받았지만 돌려주지 않음
column-stage = 단계
column-inputs = 입력
column-inputs-help = 문서를 넘겨준 단계
column-n_questions = 질문
column-n_questions-help = 이 단계를 거친 질문
column-depth = 문서
column-depth-help = 돌려준 문서 수의 평균
column-recall = 재현율
column-recall-help = 돌려준 모든 문서 기준
column-ceiling = 상한
column-ceiling-help = 이후 단계에서 아무것도 잃지 않을 때의 재현율
column-n_lost = 손실
column-n_lost-help = 받았지만 돌려주지 않았고 이후 단계도 받지 못한 정답 단위
column-gain = 최대 이득
column-gain-help = 받은 것을 하나도 잃지 않았다면 높아졌을 재현율
funnel-failed = 질문 { $questions-n }개에서 검색기 오류가 났습니다: { $ids }. 검색된 문서가 없습니다.
funnel-missing = 실행 결과에 질문 { $questions-n }개의 행이 없습니다: { $ids }. 검색된 문서가 없습니다.
funnel-searches-failed = 세션의 검색 { $searches-n }건이 실패해 아무것도 돌려주지 않았습니다.
funnel-lists = 행마다 단계 구성이 다릅니다. 서로 다른 구성은 { $n }가지입니다(예: { $shown }). 각 단계는 이름으로 세고, 재현율은 그 단계를 거친 질문으로 계산합니다.

# Questions without an answer, parameters, signatures

negatives-title = 정답이 없는 질문
negatives-about = 다른 모든 지표에서 제외합니다. 빈 목록이 올바른 결과입니다.
column-unanswered = 질문
column-unanswered-help = 정답 문서가 없는 질문
column-empty = 빈 결과
column-empty-help = 검색된 문서가 없는 질문
column-empty_share = 비율
column-empty_share-help = 정답이 없는 질문 대비
column-mean_retrieved = 평균 문서 수
parameters-title = 실행 조건
parameters-table = 매개변수
recorded-table = 실행기가 기록한 값
latency-table = 지연 시간
column-calls = 호출
column-calls-help = 성공한 호출을 하나씩 측정한 값
column-p50 = p50
column-p95 = p95
column-p99 = p99
column-max = 최대
column-failed = 실패
column-failed-help = 검색기 오류가 난 질문
signatures-title = 채점 방법
signatures-about = 설정 시그니처가 같은 점수끼리만 비교할 수 있습니다. 시그니처에는 값에 영향을 주는 모든 설정이 적혀 있습니다.
evaluation-set = 평가 세트: { $name }, { $questions }, 지문 { $fingerprint }.
unnamed = 이름 없음
column-signature = 설정 시그니처

transitions-within = {" "}(상위 { $k }위 기준)
transitions-why = {" "}({ $causes })
transitions-found = 놓쳤다가 이번에 찾은 정답 문서{ $within }: { $n }{ $why }
transitions-found-sentence = 놓쳤다가 이번에 찾은 정답 문서{ $within }: { $n }{ $why }.
transitions-missed = 찾았다가 이번에 놓친 정답 문서{ $within }: { $n }{ $why }
transitions-missed-sentence = 찾았다가 이번에 놓친 정답 문서{ $within }: { $n }{ $why }.
slices-none-worse = 확실히 나빠진 슬라이스 없음
slices-none-worse-sentence = 확실히 나빠진 슬라이스가 없습니다.
slice-worse = 확실히 나빠진 슬라이스: { $field } = { $value }({ $queries }): { $key } { VALUE($difference) }({ VALUE($low) } ~ { VALUE($high) })
slice-worse-sentence = 확실히 나빠진 슬라이스: { $field } = { $value }({ $queries }): { $key } { VALUE($difference) }({ VALUE($low) } ~ { VALUE($high) }).

## The folder and the page for labels: view.html.j2, label.html.j2, label.js

folder-about = 이 폴더와 하위 폴더의 리포트와 실행입니다. 최신순입니다.
folder-reports = 리포트
folder-report = 리포트
folder-says = 요지
folder-date = 날짜
folder-file = 파일
folder-no-report = 아직 리포트가 없습니다.
folder-queues = 라벨을 붙일 대기열
folder-queues-about = 0, 1, 2 키로 라벨을 붙이고 U 키로 되돌립니다. 터미널에서는:
folder-runs = 실행
folder-run = 실행
folder-runs-about = 실행은 기본 설정으로 ID를 비교해 채점합니다. 다른 설정을 쓰려면 리포트를 만드세요:
folder-no-set = 폴더에 평가 세트가 없어 이 실행을 채점할 수 없습니다.
folder-score-with = 채점할 평가 세트
folder-labels = 라벨
folder-labels-about = 이 화면에서 붙인 라벨입니다. 다음 명령은 라벨을 반영한 새 평가 세트를 만듭니다:
folder-served = krag-eval { $version } · 이 컴퓨터에서만 열립니다.
queue-title = { $name } - 라벨
queue-who = 이름
queue-who-hint = 여러 명이 라벨을 붙일 때
queue-number = 지금까지의 점수
queue-labels = 라벨
queue-written = 다음 문서를 보여 주기 전에 라벨을 이 컴퓨터의 다음 파일에 저장합니다:
queue-served = krag-eval { $version }
queue-key-0 = 관련 없음
queue-key-1 = 관련 있음
queue-key-2 = 완전한 답
queue-key-u = 되돌리기
queue-key-n = 건너뛰기
queue-fault = 저장하지 못했습니다: { $why }. 이전에 저장한 것은 안전합니다. 키를 다시 누르거나 krag-eval view를 다시 시작하세요.
queue-progress = { $of }개 중 { $n }번째
queue-progress-pace = { $of }개 중 { $n }번째, 시간당 약 { $pace }개
queue-over = { $of }개 중 { $n }개에 라벨을 붙였습니다. 남은 것이 없습니다.
queue-again = 의견이 다른 항목 다시 보기
queue-no-text = 본문이 없습니다. ID를 보고 라벨을 붙이세요.
