language-name = 中文
language = 语言
theme-dark = 深色
theme-light = 浅色
footer = 由 krag-eval { $version } 生成。本页面无需网络，也不会发送任何数据。

## The first screen: report.html.j2, overview.py

view-summary = 概览
view-questions = 问题
view-details = 详情
views = 视图
skip = 跳到问题列表
search-questions = 搜索问题
needs-script = 搜索和筛选需要 JavaScript，但它已被禁用。其余内容不受影响。
size-of-report = { $n } 个问题，{ $runs } 次运行
show = 查看
show-questions = 查看问题
show-questions-of = 查看问题：{ $sentence }
more-alarms = 另有 { $n } 条此类警告
warnings = { $n } 条评测说明
board = 排行榜
board-of = 按 { $key } 排序；{ $n } 次运行
board-run = 运行
board-against = 与基线相比
board-p50 = p50，毫秒
board-p95 = p95，毫秒
board-n = 问题
interval-title = 95% 区间
mark-best = 平均值最高
mark-close = 可能同样好
mark-baseline = 基线
mark-void = 不参与排名
board-failed = { $n } 次失败
mark-frontier = 前沿
mark-frontier-help = 前沿：没有其他运行能以更低的代价达到同等或更高的质量，也没有其他运行能在代价不更高的情况下质量更好。
not-compared = 未比较
outcome-better = 更好
outcome-worse = 更差
outcome-same = 相同
outcome-unresolved = 无法判定
foot-band = 条带：平均值的 95% 区间。
foot-baseline = 虚线：基线。
foot-verdict = 按校正后的检验：▲ 更好，▼ 更差，= 相同；○ 这些问题无法判定。
foot-bold = 粗体：该列最佳。
scores = 分数
scores-about = 条带：95% 区间
measure = 指标
value = 值
mean = 平均值
difference = 差异
won-lost = 胜、平、负的问题
won-lost-about = { $key }，问题数：
word-won = 胜
word-tied = 平
word-lost = 负
changed-documents = 有变化的标准答案文档
changed-gained = 现在找到，以前漏掉
changed-dropped = 现在漏掉，以前找到
changed-queries = 问题数：
within-all = 任何排名
within-rank = 在前 { $k } 位内
of-gold = 标准答案文档数：
reasons = 标准答案文档为何漏掉
reasons-of = 此处为 { $name } 漏掉的文档。
reasons-total = 漏掉合计
reason = 原因
missed-retriever_error = 检索失败
missed-nothing_retrieved = 结果列表为空
missed-crowded_out = 被重复文档挤出
missed-ranked_below_k = 检索到了，但在第 { $k } 位之后
missed-other_id = 以其他 ID 检索到
missed-in_longer_text = 包含在更长的正文中
missed-cut = 被片段边界切断
missed-piece = 只检索到一部分
missed-near_miss = 正文相似，但不匹配
missed-wrong_chunk = 同一文档的其他片段
missed-never_retrieved = 完全没有检索到
missed-not_cited = 找到了，但没有引用
missed-never_searched_for = 从未搜索过
missed-searched_in_vain = 搜索过但没找到
losses = 流水线在哪里丢失
fate-lost-in = 在 { $stage } 阶段丢失
fate-below-k = 保留了，但在第 { $k } 位之后
fate-not-in-corpus = 不在语料中
fate-not-retrieved = 任何首个阶段都没有检索到
ceilings = 召回率可以达到多少
ceiling-recall = 当前值
ceiling-without-repeats = 去掉重复之后
ceiling-best-order = 按最佳顺序时的上限
slices = 切片
slice = 切片
no-slice = （无）
slices-foot = ▲ ▼：该切片自身的结论（已按全部切片校正）判定其与基线有差异。
slices-foot-all = ▲ ▼：该切片确定高于或低于全部问题的平均值（已按全部切片校正）。
slices-more = 详情中另有 { $n } 个
frontier = 质量与代价
frontier-help = 每次运行为一个点：向上质量更高，向右代价更大。排行榜中有相同的数值。
differences = 差异
differences-about = 条带：95% 区间；虚线：无差异
missed = 有遗漏的问题
missed-more = 另有 { $n } 个未列出。
rank-none = 没有检索到
rank-found = { $rank }
rank-low = （{ $rank }）
matrices = 各截断位置的指标
verdict-none-ranked = 没有可用的运行：全部存在泄漏
verdict-finds = { $a } 找到 { $gold } 个标准答案文档中的 { $n } 个
verdict-finds-within = { $a } 在前 { $k } 位内找到 { $gold } 个标准答案文档中的 { $n } 个
verdict-both = { $a } 与 { $b } 相比有好有坏
verdict-better = { $a } 优于 { $b }
verdict-worse = { $a } 不如 { $b }
verdict-better-in = { $a } 在 { $key } 上优于 { $b }
verdict-worse-in = { $a } 在 { $key } 上不如 { $b }
verdict-equal = { $a } 与 { $b } 在每个问题上得分相同
verdict-same = { $a } 与 { $b } 的差异不超过 { VALUE($margin) }
verdict-open = 这些问题无法区分 { $a } 与 { $b }
verdict-highest = { $key } 最高（{ VALUE($value) }）：{ $a }
verdict-lowest = { $key } 最低（{ VALUE($value) }）：{ $a }
verdict-highest-tied = { $key } 并列最高（{ VALUE($value) }）：{ $a } 和另外 { $others } 个
verdict-lowest-tied = { $key } 并列最低（{ VALUE($value) }）：{ $a } 和另外 { $others } 个
support-value = { $name }：{ $n } 个问题的 { $key } 为 { VALUE($value) }。
support-value-interval = { $name }：{ $n } 个问题的 { $key } 为 { VALUE($value) }（95% 区间 { VALUE($low) } 至 { VALUE($high) }）。
support-missing = { $n } 个有标准答案文档的问题中，{ $missing } 个至少漏掉一个。
support-from-to = { $key }：{ VALUE($before) } → { VALUE($after) }。{ $n } 个问题中胜 { $won }，平 { $tied }，负 { $lost }。
support-from-to-interval = { $key }：{ VALUE($before) } → { VALUE($after) }，差异 { VALUE($difference) }（95% 区间 { VALUE($low) } 至 { VALUE($high) }）。{ $n } 个问题中胜 { $won }，平 { $tied }，负 { $lost }。
support-also-better = 同样更好：{ $keys }。
support-also-worse = 同样更差：{ $keys }。
support-better = 更好：{ $keys }。
support-worse = 更差：{ $keys }。
support-latency = 延迟中位数：{ VALUE($ours) } 毫秒，基线 { VALUE($theirs) } 毫秒。
support-better-than = 优于 { $names }，并非偶然。
support-close = 这些问题无法将它与 { $names } 区分开，它们可能同样好。
support-many-better = { $key } 优于 { $baseline }：{ $names }。
support-many-worse = { $key } 不如 { $baseline }：{ $names }。
alarm-left-out = 该运行不参与排名。
alarm-forbidden = 不要使用 { $name }：它返回了禁止的文档
alarm-forbidden-evidence = { $of } 个问题中有 { $n } 个返回了禁止的文档。第一个：{ $first }。
alarm-questions = 不要使用 { $name } 的分数：它的索引中含有问题本身
alarm-questions-evidence = { $of } 个有标准答案文档的问题中，有 { $n } 个的第 1 位文档与问题逐字相同。
alarm-questions-remedy = 请从索引中移除这些问题，然后重新检索。
alarm-failed = { $name }：{ $of } 次检索中有 { $n } 次失败，其中 { $gold } 次有答案可找
alarm-failed-count = 失败的检索按未检索到任何文档计算。
alarm-failed-means = 因此 { $key } 为 { VALUE($value) }；只看未失败的 { $n } 个问题则为 { VALUE($other) }。
alarm-failed-error = { $of } 次中有 { $n } 次为 { $error }。请重新运行后再比较。
alarm-empty = { $name } 在 { $of } 个有标准答案文档的问题中，有 { $n } 个没有检索到任何文档
alarm-no-match = { $name } 检索到的文档都与标准答案文档不匹配
alarm-no-match-remedy = 请检查 ID、正文和匹配方法。
fact-cause = { $name } 最常见的漏掉原因：{ $why }（{ $cause }），占 { $of } 个漏掉的标准答案文档中的 { $n } 个。
fact-cause-within = { $name } 在前 { $k } 位内最常见的漏掉原因：{ $why }（{ $cause }），占 { $of } 个漏掉的标准答案文档中的 { $n } 个。
fact-stage = { $name } 的 { $of } 个标准答案文档中，{ $n } 个在 { $stage } 阶段丢失。
fact-gained = { $name } 找到而 { $baseline } 漏掉的标准答案文档：{ $n } 个，涉及 { $queries } 个问题。
fact-gained-within = 在前 { $k } 位内 { $name } 找到而 { $baseline } 漏掉的标准答案文档：{ $n } 个，涉及 { $queries } 个问题。
fact-lost = { $name } 漏掉而 { $baseline } 找到的标准答案文档：{ $n } 个，涉及 { $queries } 个问题。
fact-lost-within = 在前 { $k } 位内 { $name } 漏掉而 { $baseline } 找到的标准答案文档：{ $n } 个，涉及 { $queries } 个问题。
fact-slice-worse = 更差：{ $field } = { $value }，{ $name } 的 { $key } { VALUE($difference) }（95% 区间 { VALUE($low) } 至 { VALUE($high) }，{ $n } 个问题）。
fact-slice-below = { $name }：确定低于平均值。{ $field } = { $value }，{ $n } 个问题的 { $key } 为 { VALUE($mean) }，全部为 { VALUE($all) }。
fact-slice-above = { $name }：确定高于平均值。{ $field } = { $value }，{ $n } 个问题的 { $key } 为 { VALUE($mean) }，全部为 { VALUE($all) }。
gate-status = { $name } 的门禁：{ $status }

## Search, filters and the list: filters.js, controls.js, list.js, means.js, keys.js

## A question: query.js, documents.js, outcomes.js, labels.js

## Sections and tables: krag_eval/report/sections, krag_eval/analysis, krag_eval/evaluation

# Counts and numbers

n-query = { $n } 个问题
n-question = { $n } 个问题
n-gold-document = { $n } 个标准答案文档
n-missed-gold-document = { $n } 个漏掉的标准答案文档
n-retrieval = { $n } 次检索
n-search = { $n } 次搜索
n-cluster = { $n } 个聚类
interval = { VALUE($low) } 至 { VALUE($high) }
percent = { VALUE($x) }%
milliseconds = { VALUE($x) } 毫秒
seconds = { VALUE($x) } 秒
sentences = { $before }{ $after }
some-and-more = { $ids }，另有 { $n } 个
no-value = （无）
of-system = { $title }：{ $system }
of-systems = { $systems }：{ $reason }
report-title = { $systems }：{ $what }

# Scores

summary-title = 分数
no-query = 没有问题，因此没有任何值有定义。
no-gold = 没有任何问题有标准答案文档，因此没有任何值有定义，全部显示为短横线。
no-gold-at-level = 没有任何问题在这一层级有标准答案文档，因此没有任何值有定义，全部显示为短横线。
undefined-left-out = 平均值不计入没有定义的问题，例如没有答案的问题：{ $n } 个。
no-texts-retrieved = 检索到的文档只有 ID，没有正文，因此报告无法显示正文。
no-texts-gold = 标准答案文档只有 ID，没有正文，因此报告无法显示正文。
intervals-about = 区间为平均值的 95% 置信区间。
value-of = { $system } 的值
column-95-interval = 95% 区间
interval-of = { $system } 的值的 95% 置信区间
counts-title = 评测内容：{ $queries }
column-count-queries = 问题
column-count-queries-help = 已评测的问题
column-count-failed = 失败
column-count-failed-help = 出错的检索，按空结果计算
column-count-without_an_answer = 没有答案
column-count-without_an_answer-help = 没有标准答案文档的问题
column-count-other_level = 其他层级
column-count-other_level-help = 标准答案只在另一层级（片段或文档）已知的问题：除 doc_hit 外均无定义
column-count-unmatchable_gold = 无法匹配的标准答案
column-count-unmatchable_gold-help = 缺少匹配方法所需的 ID、正文或位置的标准答案文档，永远不会匹配
column-count-unmatchable_retrieved = 无法匹配的结果
column-count-unmatchable_retrieved-help = 缺少匹配方法所需的 ID、正文或位置的检索结果，永远不会匹配

# Columns of several tables

column-system = 系统
column-metric = 指标
column-undefined = 无定义
column-undefined-help = 平均值未计入的问题
column-mean = 平均值
column-share = 占比
column-meaning = 含义
column-questions = 问题
column-queries = 问题
column-name = 名称

# The comparison

comparison-title = 与基线 { $baseline } 比较
all-pairs-title = 两两比较
all-systems = { $key }：全部系统
all-pairs = { $key }：所有系统对
against = { $system } 对比 { $baseline }
letters-note = 字母相同的系统之间无法区分优劣。
column-letters = 字母
column-pair = 系统对
column-effect_size = 效应量
column-effect_size-help = Hedges' g：平均差异除以差异的标准差
column-baseline = 基线
column-baseline-help = 基线的平均值
column-here = 本系统
column-here-help = 本系统的平均值
column-difference = 差异
column-difference-help = 两个平均值之差
column-diff = 差异
column-interval = 区间
column-interval-help = 差异的置信区间
column-p_holm = p
column-p_holm-help = 双侧随机化检验，已按全部检验校正
column-won_tied_lost = +/=/-
column-won_tied_lost-help = 胜、平、负的问题数
column-verdict = 结论
not-resolved = 无法判定
no-difference = 差异不超过 { VALUE($margin) }
unresolved = { $queries-n } 个问题不足以判定
unresolved-in-clusters = { $clusters-n } 个聚类中的 { $queries-n } 个问题不足以判定
verdict-remark = { $verdict }（{ $remark }）
could-be = 达到 { VALUE($size) } 才能判定
by-less-than = 差异小于 { VALUE($margin) }
reason-p = p = { VALUE($p) }
reason-includes-0 = { $p }，但区间包含 0
reason-corrected = 单独看 { $p }，按 { $n } 项检验校正后为 { VALUE($adjusted) }
reason-excludes-0 = 区间不含 0，但 { $p }
nothing-compared = 没有任何问题在两个系统中都有值，无法比较，全部显示为短横线。
failed-in-comparison = { $system }：{ $failed-n } 次检索失败，按未检索到任何文档计算。
left-out = { $queries-n } 个没有值的问题（例如没有标准答案文档的问题）未计入。
of-resamples = { $n } 次重抽样
of-random-signs = { $n } 个聚类的随机符号
by-holm = Holm 法
by-tukey = 对所有系统对使用 Tukey HSD 法
between-runs = 两者都考虑了同一系统多次运行之间的方差。
unseen-clusters = 所有聚类中最多可能有 { VALUE($share) }% 属于这 { $n } 个聚类未体现的类型。
how-tested = { VALUE($confidence) }% 区间来自 { $sampled }。{ $clusters }p：双侧随机化检验（非精确检验时 { $rounds } 轮），校正方法：{ $adjusted }（检验数：{ $tests }；切片中为该字段的全部检验），不超过 { VALUE($level) } 为显著。{ $runs }+/=/-：胜、平、负的问题数。随机种子 { $seed }。

# Slices

slices-title = 按切片
slices-about = 每个平均值只计入该切片中有定义的问题，数量见表。
by-field = 按 { $field }
key-by-field = 按 { $field } 的 { $key }
column-defined = 有定义
column-defined-help = 有值的问题

# Causes

causes-title = 漏掉的原因
causes-about = 凡是{ $within }未找到的标准答案文档，都有一个原因：列表中第一个符合的。
at-any-rank = 在任何排名上都
causes-by = 按 { $field } 的原因
gold-documents-of-cause = 标准答案文档：{ $cause }
gold-documents-title = 标准答案文档
column-cause = 标准答案文档
column-share-of-gold = 占比
column-share-of-gold-help = 占全部标准答案文档
found-within-cut-off = 截断位置内有检索到的文档与之匹配
cause-retriever_error = 检索器出错
cause-nothing_retrieved = 没有检索到任何文档
cause-crowded_out = 如果没有排在前面的重复和近似重复文档，它就会进入截断位置
cause-ranked_below_k = 检索到了，但排在截断位置之后
cause-other_id = 检索到了相同正文，但 ID 不同
cause-in_longer_text = 检索到的正文包含它
cause-cut = 被片段边界切断：检索到的正文只含它的开头或结尾
cause-piece = 只检索到其中一部分，没有开头和结尾
cause-near_miss = 检索到的正文相似，但不匹配
cause-wrong_chunk = 检索到了同一文档的其他片段
cause-never_retrieved = 没有检索到任何相似内容
cause-not_cited = 找到了，但回答没有引用任何满足它的内容
cause-never_searched_for = 会话中没有任何搜索查找过它
cause-searched_in_vain = 会话中搜索过它，但没有检索到相似内容
ceilings-title = { $key } 可以达到多少
ceiling-with_perfect_reranking = 同样的文档按最佳顺序排列时的上限
ceiling-without_repeats = 去掉与前面重复的文档之后

# Stages

stages-title = 阶段
stages-about = 每个标准答案项（一个标准答案文档，或几个中的任意一个）有一个去向。阶段的召回率按它返回的全部文档计算；上限是后续阶段没有任何损失时可能达到的召回率；增益是该阶段没有丢失任何输入时召回率最多能提高多少。
fates-title = 标准答案项的去向
fates-note = 占比：按问题取平均；kept 的占比即 { $recall }
column-fate = 去向
column-needs = 标准答案项
column-needs-of-slice = 标准答案项
column-needs-of-slice-help = 标准答案项
column-such-as = 例如
fate-not_in_corpus = 语料中没有匹配的内容
fate-not_retrieved = 没有任何阶段返回它
fate-below_k = 最后一个阶段返回了它，但排在截断位置之后
fate-kept = 最后一个阶段在截断位置内返回了它
fate-lost = 该阶段收到了它，但没有返回
column-stage = 阶段
column-inputs = 输入
column-inputs-help = 向它提供文档的阶段
column-n_questions = 问题
column-n_questions-help = 经过该阶段的问题
column-depth = 文档
column-depth-help = 平均返回的文档数
column-recall = 召回率
column-recall-help = 按它返回的全部文档
column-ceiling = 上限
column-ceiling-help = 后续阶段没有任何损失时的召回率
column-n_lost = 丢失
column-n_lost-help = 它收到但没有返回、后续阶段也没有收到的标准答案项
column-gain = 最大增益
column-gain-help = 如果没有丢失任何输入，召回率能提高多少
funnel-failed = 检索器在 { $questions-n } 个问题上出错：{ $ids }。没有检索到任何文档。
funnel-missing = 运行结果中缺少 { $questions-n } 个问题：{ $ids }。没有检索到任何文档。
funnel-searches-failed = 会话中有 { $searches-n } 次搜索失败，没有返回任何内容。
funnel-lists = 各行的阶段列表不同，共 { $n } 种，例如 { $shown }。每个阶段按名称计数，召回率按经过该阶段的问题计算。

# Questions without an answer, parameters, signatures

negatives-title = 没有答案的问题
negatives-about = 这些问题不计入其他指标：正确的结果是空列表。
column-unanswered = 问题
column-unanswered-help = 没有标准答案文档的问题
column-empty = 返回为空
column-empty-help = 没有检索到任何文档的问题
column-empty_share = 占比
column-empty_share-help = 占没有答案的问题
column-mean_retrieved = 平均文档数
parameters-title = 运行方式
parameters-table = 参数
recorded-table = 运行器记录
latency-table = 延迟
column-calls = 调用
column-calls-help = 成功的调用，逐次测量
column-p50 = p50
column-p95 = p95
column-p99 = p99
column-max = 最大
column-failed = 失败
column-failed-help = 检索器出错的问题
signatures-title = 评测方式
signatures-about = 只有签名相同的分数才可以比较，签名列出了所有会影响数值的设置。
evaluation-set = 评测集：{ $name }，{ $questions }，指纹 { $fingerprint }。
unnamed = 未命名
column-signature = 签名

transitions-within = （前 { $k } 位内）
transitions-why = （{ $causes }）
transitions-found = 以前漏掉、现在找到的标准答案文档{ $within }：{ $n }{ $why }
transitions-found-sentence = 以前漏掉、现在找到的标准答案文档{ $within }：{ $n }{ $why }。
transitions-missed = 以前找到、现在漏掉的标准答案文档{ $within }：{ $n }{ $why }
transitions-missed-sentence = 以前找到、现在漏掉的标准答案文档{ $within }：{ $n }{ $why }。
slices-none-worse = 没有切片确定变差
slices-none-worse-sentence = 没有切片确定变差。
slice-worse = 确定变差：{ $field } = { $value }（{ $queries }）：{ $key } { VALUE($difference) }（{ VALUE($low) } 至 { VALUE($high) }）
slice-worse-sentence = 确定变差：{ $field } = { $value }（{ $queries }）：{ $key } { VALUE($difference) }（{ VALUE($low) } 至 { VALUE($high) }）。

## The folder and the page for labels: view.html.j2, label.html.j2, label.js

folder-about = 本文件夹及其子文件夹中的报告和运行，最新的在前。
folder-reports = 报告
folder-report = 报告
folder-says = 结论
folder-date = 日期
folder-file = 文件
folder-no-report = 还没有报告。
folder-queues = 待标注队列
folder-queues-about = 按 0、1、2 键标注，按 U 键撤销。在终端中：
folder-runs = 运行
folder-run = 运行
folder-runs-about = 运行按默认设置以 ID 评测。如需其他设置，请生成报告：
folder-no-set = 文件夹中没有评测集，因此无法评测这些运行。
folder-score-with = 使用的评测集
folder-labels = 标注
folder-labels-about = 在这些页面上标注的内容。此命令用它们生成新的评测集：
folder-served = 由 krag-eval { $version } 提供，仅限本机访问。
queue-title = { $name } - 标注
queue-who = 你的名字
queue-who-hint = 多人标注时填写
queue-number = 目前的分数
queue-labels = 标注
queue-written = 显示下一个文档之前，每个标注都会写入本机的这个文件：
queue-served = 由 krag-eval { $version } 提供。
queue-key-0 = 不相关
queue-key-1 = 相关
queue-key-2 = 完整回答
queue-key-u = 撤销
queue-key-n = 跳过
queue-fault = 未写入：{ $why }。之前写入的内容是安全的。请再按一次该键，或重新启动 krag-eval view。
queue-progress = { $n } / { $of }
queue-progress-pace = { $n } / { $of }，每小时约 { $pace } 个
queue-over = 已标注 { $n } / { $of }。没有剩余。
queue-again = 再次询问意见不一致的地方
queue-no-text = 没有正文：请按 ID 标注。
