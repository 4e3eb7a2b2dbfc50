language-name = 한국어
language = 언어
theme-dark = 어둡게
theme-light = 밝게
footer = krag-eval 버전 { $version }에서 만든 페이지입니다. 네트워크가 필요 없으며 아무것도 전송하지 않습니다.
