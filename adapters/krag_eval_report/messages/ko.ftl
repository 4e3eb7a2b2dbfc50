language-name = 한국어
language = 언어
theme-dark = 어둡게
theme-light = 밝게
footer = krag-eval 버전 { $version }에서 만든 페이지입니다. 네트워크가 필요 없으며 아무것도 전송하지 않습니다.

## The first screen: report.html.j2, overview.py

show-queries = 질문 보기

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
outcome-better = 더 좋음
outcome-worse = 더 나쁨
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
within-rank = 상위 { $k }위 안에서
at-any-rank = 어떤 순위에서도
causes-by = { $field }별 원인
gold-documents-of-cause = 정답 문서: { $cause }
gold-documents = 정답 문서
column-cause = 정답 문서
column-share-of-gold = 비율
column-share-of-gold-help = 전체 정답 문서 대비
cause-found = 검색된 문서가 컷오프 안에서 매칭됨
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
ceiling-recall = 현재 값
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
