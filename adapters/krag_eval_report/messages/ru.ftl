language-name = Русский
language = Язык
theme-dark = Тёмная
theme-light = Светлая
footer = Создано в krag-eval { $version }. Этой странице не нужна сеть, и она ничего не отправляет.
