language-name = 中文
language = 语言
theme-dark = 深色
theme-light = 浅色
footer = 由 krag-eval { $version } 生成。本页面无需网络，也不会发送任何数据。
