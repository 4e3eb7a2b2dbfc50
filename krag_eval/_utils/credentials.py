"""What looks like a credential in a text, whoever's it is: keys of providers, and values behind names that say so.

Texts are looked at as people read them: full-width letters and signs, usual beside Korean and Chinese, count as those
of ASCII, and a key that was wrapped at the end of a line counts in one piece.
"""

from __future__ import annotations

import bisect
import functools
import re
import string
from collections.abc import Iterator
from dataclasses import dataclass

_DIGIT, _UPPER, _LOWER = r"(?=[A-Za-z]{0,64}\d)", r"(?=[a-z0-9]{0,64}[A-Z])", r"(?=[A-Z0-9]{0,64}[a-z])"
# By the rest of its form: what a key begins with.
PROVIDERS = {
    r"[\w-]{12,}": (
        "sk-proj- sk-ant- sk-or- sk-lf- pk-lf- sk-svcacct- sk-admin- sk-None- sk-helicone- sk_live_ sk_test_ sk_prod_"
        " pk_live_ pk_test_ rk_live_ rk_test_ lsv2_ sbp_ sb_secret_ doo_v1_ dop_v1_ dor_v1_ shpat_ shpca_ shppa_ shpss_"
        " shptka_ fm1_ fm2_ fo1_ sq0atp- sq0csp- access-production- access-sandbox- duffel_live_ duffel_test_ bt-st-"
        " shippo_live_ shippo_test_ xkeysib- xsmtpsib- pplx- tpuf_ sgp_"
    ),
    rf"{_DIGIT}[A-Za-z0-9]{{20,}}": (
        "hf_ api_org_ gsk_ npm_ r8_ ghp_ gho_ ghu_ ghs_ ghr_ ntn_ whsec_ secret_ rpa_ e2b_ pnu_ pnb_ phc_ phx_ vcp_"
        " vck_ nfp_ csk- llx- sk_ esecret_ opk_ flp_ bkua_ dckr_oat_ apify_api_ napi_ KGAT_ rubygems_"
        " fc- squ_ sqp_ sqa_ pul-"
    ),
    rf"{_DIGIT}{_UPPER}{_LOWER}[A-Za-z0-9]{{20,}}": (
        "up_ fw_ pat_ rnd_ ak- as- mxb_ emb_ EZAK EZTK cio dataset- ck- m0- ico-"
    ),
    r"[\w-]{20,}": (
        "pcsk_ jina_ lin_api_ lin_oauth_ github_pat_ figd_ sntrys_ sntryu_ dckr_pat_ tgp_v1_ ATATT3 ATCTT3 pscale_tkn_"
        " pscale_pw_ wandb_v1_ CCIPAT_ CLOJARS_ aio_ bce-v3/ AQVN 1//0 nvapi- EAAC EAAG APA91b y0_Ag AGE-SECRET- glsa_"
        " rdme_ HRKU- ATBB bb_live_ bb_test_ sha256~ tfp_"
    ),
    r"[\w.-]{16,}": (
        "glpat- gldt- glrt- glcbt- glptt- glft- glffct- glimt- glagent- glsoat- gloas- xoxa- xoxb- xoxc- xoxd- xoxe-"
        " xoxe. xoxo- xoxp- xoxr- xoxs- xapp- GOCSPX- tvly- tskey- NRAK- NRII- NRJS- PMAK- mfa. dt0c01. mlsn."
    ),
    r"(?=[\w-]{0,64}\d)[\w+/-]{40,}": "pypi- pa- al- xai- ABSK AKCp AQ. bedrock-api-key- glc_ essu_",
    r"(?=[\w.-]{0,64}\d)[\w.-]{20,}": (
        "hvs. hvb. hvr. dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit. SG. ya29. ls__ sl."
    ),
    r"[A-Z0-9]{16}(?![A-Za-z0-9])": "AKIA ASIA ABIA ACCA",
    rf"{_DIGIT}[A-Za-z0-9]{{12,}}(?![A-Za-z0-9])": "LTAI AKLT AKID",
    r"[\w-]{12,}(?:\.[\w-]{4,}){0,2}": "AIza eyJ",
    r"[0-9a-f]{32}": "dapi SK AC key-",
}
# Keys without a beginning of their own.
_OTHER_KEYS = (
    r"sk-(?:[A-Za-z0-9]{20,}|\w{2,8}\*{3}[\w*]*)|pat\w{14}\.[0-9a-f]{64}|\d{8,12}:[\w-]{35}(?![\w-])"
    r"|\w{14}\.atlasv1\.[\w-]{20,}|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}|\w{3}[78]Q~[\w.~-]{30,}"
    rf"|[0-9a-f]{{32}}\.{_DIGIT}[A-Za-z0-9]{{16}}(?![A-Za-z0-9])|[0-9a-f]{{32}}-us\d{{1,2}}(?!\d)"
    r"|bot\d{8,12}:[\w-]{35}(?![\w-])|AstraCS:[\w:]{20,}|re_[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}"
    r"|[A-Za-z0-9]{24,76}(?:JQQJ99|AZDO)[A-Za-z0-9]{4,40}"
)

# Names that stand for credentials alone: whatever follows them is one.
NAME = (
    r"(?:passw(?:or)?d|pass[-_ ]?(?:phrase|code|wort)"
    r"|(?:(?<![A-Za-z])|(?<=%3B)|(?<=%26)|(?-i:(?<=[a-z])(?=P)))(?:pwd|psw|pass)"
    r"|bind[-_]?pw|auth[-_.]user[-_.]info|secret|credentials?|dsn|conn(?:ection)?[-_ ]?str(?:ing)?"
    r"|(?:api|access|account|subscription|master|admin|functions?|signing|encryption|private|auth|app(?:lication)?|storage|license|service|client|shared|query"
    r"|search|instrumentation|project|write|ingest(?:ion)?|deploy|server)[-_ ]?key"
    r"|(?:access|auth|refresh|session|id|security|sas|bot"
    r"|api|bearer|oauth|private|personal|deploy|user|client|app)[-_ ]?token)"
    r"(?:[-_ ]?(?:access|key|base|value|prod|dev|test|old|new|main|default|plain|text|str)(?![a-z])){0,2}"
    r"(?:[-_]?\d{1,3})?"
)
# Names that stand for other things too: what follows them has to look like a key.
_WEAK_NAME = (
    r"(?:(?<![a-z])(?:token|pass|auth|otp|sid|sig|jwt|pw|pin|pat|session[-_]?id)"
    r"|[-_](?:token|auth|pw)|(?-i:(?<=[a-z])(?:Token|Auth)))"
)
_FOREIGN = (
    "비밀번호|패스워드|암호|비번|密码|密碼|口令|パスワード|暗証番号"
    "|пароль|пароля|паролем|contraseña|senha|mot de passe|kennwort|hasło|şifre|wachtwoord|lösenord|mật khẩu"
    "|كلمة المرور|كلمة السر|पासवर्ड|סיסמה|รหัสผ่าน"
)
_WEAK_FOREIGN = (
    r"토큰|시크릿|인증\s?키|비밀\s?키|api\s?키|액세스\s?키|[密私秘]密?[钥鑰鍵]|令牌"
    r"|トークン|シークレット|キー|токен|секрет|ключ(?: доступа| api)?"
)
_LIKE_A_KEY = r"(?=[^\s\"',;&]{0,64}\d)(?=[^\s\"',;&]{0,64}[A-Za-z])"
# A value that says that there is none, or where it is.
_NONE = (
    r"(?!\[key\]|(?:none|null|nil|true|false|undefined|str|string|bytes|required|missing|invalid|optional|any|redacted"
    r"|masked|hidden|changeme|your)(?![A-Za-z0-9])|\$[{(]|\$[A-Z]|<|\*|\.\.\.|…|%[(s{]|\{\{|\{\w{1,40}\}|x{4,}(?!\w)"
    r"|\[(?:redacted|masked|hidden|filtered)\]|(?:self|cls|config|cfg|settings|args|options|env|os|process|ctx|request)\."
    r"|(?:\w{1,30}[_.])?(?:api_?key|token|password|passwd|secret)(?![\w-]|\s\S)"
    r"|[A-Za-z_.]{1,63}[(\[](?:[)\"'\][A-Za-z0-9_]|\Z)|(?:\w{1,20}\.)?(?:b64|base64|sha|md5|int|utf)\w{0,20}\()"
)
_QUOTE = r"\\{0,3}[\"'`]"
# What wraps a value in a `repr`: `Some("`, `SecretStr('`, `Secret::new("`, `["`; YAML's anchors and tags, PHP's types.
_WRAPPER = (
    r"(?:&\w{1,20}\s|!{1,2}\w{0,20}\s|string\(\d{1,4}\)\s)?"
    r"(?:&?(?:some|ok|just|secret\w{0,20}|password\w{0,12}|apikey|token|string|str|bytes|sensitive|masked|optional"
    r"|credential\w{0,12})(?:::\w{1,20}|\.of|\.from_token)?\s?[({]\s{0,12}(?:value\s?[=:]\s?)?){0,2}"
)
_OPEN = rf"{_WRAPPER}(?:[\[({{]\s?(?=[\"']))?(?:[bfru](?=[\"']))?(?:{_QUOTE})?"
_IN_QUOTES = r"(?:(?<=\")[^\"\n]{4,}|(?<=')[^'\n]{4,}|(?<=`)[^`\n]{4,})"
# An unquoted value ends where ideographs, kana or Hangul begin, which stand beside it without a space.
_EAST = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
# In prose, it ends before a bracket with a remark in another script.
_PRINTED = r"(?:[!#-&)-+\--:=-~]|\((?=[!-~]))"
_BARE = rf"(?:[^\s\"'`,;&)}}\]<>\\│{_EAST}]|[,)}}\]](?=[A-Za-z0-9_])(?!\w{{1,40}}\s?[=:]))"
# `name=`, `"name": `, `name'] = ` or `name%3D`, with the quote that begins the value.
_IS = (
    rf"(?:{_QUOTE})?\]?(?::\s?[a-z][\w\[\]| .]{{0,40}}(?=\s=))?"
    rf"(?:\s{{0,3}}(?:=[=>]?|:=|->|%3D)|(?<=[\"'])\s?:)\s{{0,3}}{_OPEN}"
)
_SAYS = rf"(?:{_QUOTE})?\s?[,:=]\s?[\[(]?{_OPEN}"
_CHARACTERS = {"a": string.ascii_letters + string.digits + "_.~*-/+", "=": "=@", ":": ":>%\"'([{"}
# What the bytes of a text are: `a` of a key, `=` in an assignment or address, `:` after a name, or a space.
_KINDS = bytes(
    next((ord(kind) for kind, chars in _CHARACTERS.items() if chr(code) in chars), 32) for code in range(256)
)
_NAMES = ("=", ":", ">", "%3d", "',", '",', "(")
_ABROAD = tuple(f"{_FOREIGN}|토큰|시크릿|키|密|私|秘|令牌|トークン|シークレット|キー|токен|секрет|ключ".split("|"))
KEY_FORM = (
    "(?<![A-Za-z0-9])(?:"
    + "|".join(f"(?:{'|'.join(map(re.escape, begins.split()))}){rest}" for rest, begins in PROVIDERS.items())
    + f"|{_OTHER_KEYS})"
)
# What looks like a credential, under what a text in lower case must have one of, as prose rarely has. What the first
# group matches is shown, and `[key]` instead of the rest.
_SHAPES = {
    ("-----begin",): (
        r"()-----BEGIN [A-Z ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[\s\S]*?(?:-----END [A-Z ]{0,60}-----|\Z)",
    ),
    (
        *("hooks.slack", "/webhooks/", ".webhook.office", ".logic.azure", "hooks.zapier", "open.feishu"),
        "oapi.dingtalk",
        *("infura.io", "alchemy", "ankr.com", "quiknode"),
    ): (
        (
            r"(/(?:hooks\.slack(?:-gov)?\.com|(?:\w{1,10}\.)?discord(?:app)?\.com/api/webhooks|hooks\.zapier\.com"
            r"|[\w.-]{1,80}\.webhook\.office\.com|open\.(?:feishu|larksuite)\.\w{2,3}/open-apis/bot)/)[^\s\"'<>\[]+"
        ),
        (
            r"(\.infura\.io/(?:ws/)?v3/|\.alchemy(?:api\.io|\.com)/v2/|\.ankr\.com/\w{1,30}/|\.quiknode\.pro/)"
            r"[\w-]{20,}"
        ),
    ),
    ("?", "&", "#", ";"): (
        (
            r"([?&#;](?:appid|jsessionid|x-(?:amz|goog)-(?:signature|credential|security-token)"
            r"|sig|signature|code|jwt|key|sid|auth|session"
            rf"|(?:\w{{1,20}}[-_])?token|{NAME})=){_NONE}(?:(?=[^\s\"'&#]{{0,64}}\d)[^\s\"'&#]{{4,}}|[^\s\"'&#]{{16,}})"
        ),
    ),
    ("authorization", "bearer ", "basic ", "bearer%20"): (
        (
            rf"(authorization{_SAYS}){_NONE}"
            r"(?:(?:bearer|basic|token|digest|negotiate|api-?key|key|oauth)(?:\s+|%20)(?![<$])"
            rf"|[a-z][\w-]{{1,30}}\s+{_LIKE_A_KEY}|{_LIKE_A_KEY})[^\s\"',;&}}]{{4,}}"
        ),
        rf"(\b(?:bearer|basic)(?:\s+|%20))(?:{_LIKE_A_KEY}[^\s\"',;}}]{{6,}}|[^\s\"',;}}]{{20,}})",
    ),
    ("=",): (r"(\b(?:response|signature|credential|nonce)=\"?)[\w+/=%-]{16,}",),
    ("cookie",): (
        rf"(cookie{_SAYS}|<cookie\s)[^\s=;,\"'{{\[]+=[^\s;,\"']*(?:;\s?[^\s=;,\"']+(?:=[^\s;,\"']*)?)*",
        r"(cookies=)\{[^}]{4,}",
    ),
    # In prose a name and a colon say little, so that a word of letters is a credential only at the end.
    _NAMES: (
        rf"({NAME}(?:{_IS}|(?:[\"']|\s[^<>\n]{{1,99}})?>(?=[^\s<]{{4,999}}<))){_NONE}(?:{_IN_QUOTES}|{_BARE}{{4,}})",
        (
            rf"({NAME}(?:\sprovided)?\s?:\s{{0,3}}{_WRAPPER}(?:[bfru](?=[\"']))?(?:{_QUOTE})?){_NONE}(?!https?:"
            rf"|\d{{1,5}}[-a-z ]{{0,5}}\b)(?:{_IN_QUOTES}|(?=[!-~]{{0,64}}(?:\d|[!@#$%^*+=~]\w)){_PRINTED}{{6,}}"
            r"|[a-z]{6,}(?=[,;)}\]]|\Z))"
        ),
        rf"({_WEAK_NAME}{_IS}){_NONE}{_LIKE_A_KEY}(?:{_IN_QUOTES}|{_BARE}{{6,}})",
        rf"([-_](?:token|key)(?:{_QUOTE})?\s?:\s?{_OPEN}|(?-i:[A-Z]_(?:KEY|TOKEN)=){_OPEN}|(?<![\w-])key{_IS}){_NONE}{_LIKE_A_KEY}[\w+/=.~-]{{20,}}",
        (
            rf"((?:{NAME}|{_WEAK_NAME}|-key)(?:{_QUOTE}\s?,\s?b?|\(\s?b?){_QUOTE}){_NONE}(?:{_LIKE_A_KEY}[^\s\"'\\]{{8,}}"
            r"|(?<=')[^\s'\"\\]{20,})"
        ),
        # A block of YAML: the value stands on the lines below.
        rf"({NAME}\s?:\s?[|>][-+]?\d?[ \t]*\n)(?:[ \t]+\S[^\n]*(?:\n|\Z))+",
        # A list of YAML.
        (
            rf"({NAME}s?(?:{_QUOTE})?\s?:[ \t]*\n)"
            rf"(?:[ \t]*-[ \t]+(?:{_QUOTE})?{_LIKE_A_KEY}[^\s:]{{8,}}(?:\n|\Z))+"
        ),
        rf"({NAME}\s?[=:]\s?(?:\"\"\"|''')\\?\s?)(?:[^\"'\n]+\n?)+",
    ),
    # A name and a value with nothing but words between them.
    (
        *(f"{name}{space}" for name in ("key", "token", "secret", "password", ".pass") for space in " \t"),
        *("identified", "requirepass", "machine ", "auth "),
    ): (
        rf"({NAME}\s(?:(?:is|was)\s(?:set\sto\s)?)?[\"'`]?){_LIKE_A_KEY}[\w+/=.~-]{{20,}}",
        r"(\bpassword\s+(?:from\s+'[^'\n]{0,80}'\s+to\s+)?'|\bidentified(?:\s+with\s+\w{1,40})?\s+by\s+')[^'\n]{4,}",
        rf"((?-i:\bAUTH)\s(?:\w{{1,30}}\s)?){_LIKE_A_KEY}[!-~]{{12,}}",
        r"(\brequirepass\s[\"']?|\bmachine\s\S{1,99}\s{1,9}login\s\S{1,99}\s{1,9}password\s)[^\s\"']{4,}",
    ),
    ("name", "key"): (
        (
            rf"((?:name|key)[\"']?\s?[:=]\s?[\"']?[\w.-]{{0,40}}{NAME}[\"']?,?\s{{1,20}}"
            rf"[\"']?(?:value|default)[\"']?\s?[:=]\s?[\"']?){_NONE}(?:{_IN_QUOTES}|{_BARE}{{4,}})"
        ),
    ),
    ("variable",): (
        rf"(\bvariable\s\"[\w-]{{0,40}}{NAME}[\w-]{{0,20}}\"\s?\{{[^}}]{{0,400}}?\bdefault\s{{1,12}}=\s\")[^\"\n]{{4,}}",
    ),
    ("input_value",): (rf"({NAME}\n\s{{1,4}}[^\n]{{0,300}}\binput_value=[\"']){_NONE}[^\"'\n]{{4,}}",),
    ("_headers=",): (r"(\bOTEL_EXPORTER_OTLP_(?:\w{1,10}_)?HEADERS=)[^\s]{4,}",),
    (":5432:",): (rf"(:5432:[\w*.-]{{1,63}}:[\w*.@-]{{1,63}}:){_LIKE_A_KEY}[!-~]{{6,}}",),
    ("add-mask::",): (r"(::add-mask::)[^\s]{4,}",),
    ("secret set", "poetry config"): (
        r"(\bsecret\sset\s[^\n]{0,100}?(?:--body|-b)[\s=][\"']?|\bpoetry\sconfig\shttp-basic\.\S{1,40}\s\S{1,60}\s)[^\s\"']{4,}",
    ),
    ("{",): (r"((?:pwd|password)=)\{(?=[^}\n]{0,99}[^A-Za-z_}\n])[^}\n]{4,99}\}",),
    ("auth",): (
        (
            rf"(auth\w{{0,12}}[\"']?\s?(?:[=:,]\s?)?[\[(]\s?[bfru]?[\"'][^\s\"']{{0,80}}[\"']\s?,\s?[bfru]?[\"']){_NONE}"
            r"[^\"'\n\\]{4,}"
        ),
    ),
    _ABROAD: (
        (
            rf"((?:{_FOREIGN})[은는이가을를]?\s{{0,2}}[=:]?\s{{0,2}}{_OPEN}){_NONE}(?!\d{{1,5}}(?![!-~]))"
            r"(?=[!-~]{0,64}(?:\d|[!@#$%^*+=~]\w))"
            rf"{_PRINTED}{{4,}}"
        ),
        (
            rf"((?:{_WEAK_FOREIGN})[은는이가을를]?\s{{0,2}}[=:]?\s{{0,2}}{_OPEN}){_NONE}(?=[!-~]{{0,64}}\d)"
            r"(?=[!-~]{0,64}[A-Za-z])"
            rf"{_PRINTED}{{8,}}"
        ),
    ),
    (" -", "\n-", "'-", '"-'): (
        (
            rf"((?<![\w-])--?(?:\w{{1,20}}-){{0,2}}(?:{NAME}|token|auth|\w{{1,8}}pass)"
            rf"(?:[\s=]|{_QUOTE}\s?,)\s?(?:{_QUOTE})?){_NONE}"
            r"[^\s\"'-][^\s\"']{3,}"
        ),
        r"((?<![\w-])(?:-u|--user|--proxy-user)(?:[\s=]|[\"'],)\s?[\"']?[^\s:\"']{1,60}:)(?!\d+\b)[^\s\"'\[]{3,}",
        (
            r"(\b(?:mysql|mysqldump|mysqladmin|mariadb|sshpass|redis-cli|docker|podman|helm|sqlcmd|bcp|ldapsearch|ldapmodify"
            r"|mongosh|mongo|mongodump|az|twine|7z|unzip|https?|clickhouse-client|snowsql|cypher-shell|psql)\b"
            r"[^\n|]{0,200}?\s-(?:[paPw]\s?|pass\s))"
            rf"(?!\w{{1,20}}://){_NONE}[\"']?(?:{_LIKE_A_KEY}|(?=\S{{0,64}}[!@#$%^*]))[^\s\"']{{4,}}"
        ),
    ),
    ("jdbc:oracle:", "sqlplus"): (r"(jdbc:oracle:\w{1,9}:|\bsqlplus\s(?:-\w\s)?)[^\s@]{1,200}(?=@)",),
}
# User and password of an address, also with a slash in the password, but not `host:9200/path?q=a@b`.
_ADDRESS = re.compile(r"(?<=://)(?:[^\s/?#]*@|[^\s/?#@:]{0,99}:(?!\d{1,5}[/?#])[^\s\"'<>]{1,200}@)")
_VALUE_OF = re.compile(
    r"(?:pass|pwd|psw|pw|secret|cred|dsn|conn|key|token|auth|user.info|otp|sid|sig|jwt|pat|pin)"
    r"[\w\"'`\\\] -]{0,24}(?:[=:,>(]|%3d)"
)
_ABROAD_VALUE = re.compile(rf"(?:{_FOREIGN}|{_WEAK_FOREIGN})[은는이가을를]?\s{{0,2}}[=:]?\s{{0,2}}[!-~]")
_LONG_WORD = b"a" * 16
# What a text has with a credential that is no long word and needs no `=`, `@` or colon.
_SIGNS = (
    " -",
    "\n-",
    "auth ",
    "private key",
    "bearer ",
    "basic ",
    "authorization",
    "password ",
    "identified",
    "requirepass",
)
_WIDE = str.maketrans(
    {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
    | dict.fromkeys(map(ord, "「」『』“”„«»"), '"')
    | dict.fromkeys(map(ord, "‘’"), "'")
    | dict.fromkeys(map(ord, "。、·｡､"), ",")
    | dict.fromkeys(map(ord, "【〔〈《"), "(")
    | dict.fromkeys(map(ord, "】〕〉》"), ")")
    | dict.fromkeys(map(ord, "\u3000\xa0\u202f"), " ")
)


def narrow(text: str) -> str:
    """Return a text of the same length, with full-width letters, signs and quotes as those of ASCII."""
    return text if text.isascii() else text.translate(_WIDE)


def is_suspicious(text: str) -> bool:
    """Whether a text may hold what looks like a credential: a glance, which is enough for most texts."""
    text = narrow(text)
    kinds, lower = _kinds(text), f" {text.lower()}"
    if b"=" in kinds or _LONG_WORD in kinds:
        return True
    for sign in _SIGNS:  # in half the time of `any`
        if sign in lower:
            return True
    if not text.isascii() and _ABROAD_VALUE.search(lower):
        return True
    return b":" in kinds and ("hook" in lower or _VALUE_OF.search(lower) is not None)


Place = tuple[int, int, str]
"""Where a credential stands in a text, from and to, and what is shown instead."""


def places(text: str) -> list[Place]:
    """Return where a text holds what looks like a credential, in any order; places may overlap."""
    found = list(_places(narrow(text)))
    if "\n" in text and len((joined := joined_lines(text, only_wrapped=True)).starts) > 1:
        found += [(*joined.place(start, end), instead) for start, end, instead in _places(narrow(joined.text))]
    return found


def without(text: str, found: list[Place]) -> str:
    """Return a text with what is shown instead of what stands in some places."""
    pieces, at = list[str](), 0
    for start, end, instead in sorted(found):
        if start >= at:
            pieces += [text[at:start], instead]
        elif instead and pieces and not pieces[-1]:
            pieces[-1] = instead
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def _places(text: str) -> Iterator[Place]:
    lower = f" {text.lower()}"
    if _LONG_WORD in _kinds(text):
        yield from ((*found.span(), "[key]") for found in key_form().finditer(text))
    if "://" in lower:
        yield from ((*found.span(), "") for found in _ADDRESS.finditer(text) if found.end() > found.start())
    for signs, patterns in shapes():
        if not any(map(lower.__contains__, signs)):
            continue
        if signs is _NAMES and not _VALUE_OF.search(lower):
            continue
        for pattern in patterns:
            yield from ((found.end(1), found.end(), "[key]") for found in pattern.finditer(text))


@functools.cache
def key_form() -> re.Pattern[str]:
    """Return the pattern of providers' keys, compiled when the first text is written."""
    return re.compile(KEY_FORM)


@functools.cache
def shapes() -> tuple[tuple[tuple[str, ...], list[re.Pattern[str]]], ...]:
    """Return the other patterns, compiled likewise, each list with the signs of which a text must have one."""
    return tuple((signs, [re.compile(one, re.IGNORECASE) for one in forms]) for signs, forms in _SHAPES.items())


def _kinds(text: str) -> bytes:
    return text.encode(errors="replace").translate(_KINDS)


@dataclass(frozen=True, slots=True)
class Joined:
    """A text whose lines were joined.

    Attributes:
        text: The text.
        starts: Where each piece of it begins, in the text before and in this one.
    """

    text: str
    starts: list[tuple[int, int]]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of it stands in the text before."""
        return self._before(start), self._before(end - 1) + 1

    def _before(self, at: int) -> int:
        before, here = self.starts[bisect.bisect_right(self.starts, at, key=lambda start: start[1]) - 1]
        return before + at - here


def joined_lines(text: str, *, only_wrapped: bool = False) -> Joined:
    """Join the lines of a text, without margins, indents and trailing backslashes.

    Args:
        text: The text.
        only_wrapped: Only where a line seems to end in the middle of a key.
    """
    lines = text.split("\n")
    cores = [line.rstrip(_MARGIN + "\\") for line in lines]
    width = max(map(len, cores))
    pieces, starts, first, at, size = list[str](), list[tuple[int, int]](), 0, 0, 0
    for (line, left), below in zip(zip(lines, cores, strict=True), lines[1:], strict=False):
        right = below.lstrip(_MARGIN + ">")
        if not only_wrapped or _is_wrap(left, right, line.rstrip().endswith("\\") or len(left) >= max(width, _FULL)):
            pieces.append(text[first : max(first, at + len(left))])
            starts.append((first, size))
            size += len(pieces[-1])
            first = at + len(line) + 1 + len(below) - len(right)
        at += len(line) + 1
    return Joined("".join([*pieces, text[first:]]), [*starts, (first, size)])


_MARGIN = " \t\r│┃║|"
_FULL = 20
_WORD = re.compile(r"[\w+/=.~%-]+", re.ASCII)
_LONGEST_WORD = 400


def _is_wrap(left: str, right: str, is_full: bool) -> bool:
    """Whether one key seems to stand at the end of a line and at the beginning of the next."""
    end, begin = _WORD.match(left[: -_LONGEST_WORD - 1 : -1]), _WORD.match(right[:_LONGEST_WORD])
    if end is None or begin is None or right[begin.end() :][:1] == ":" or re.search(r"=\w", begin[0]):
        return False
    return (is_full and _is_piece(begin[0], 1)) or (_is_piece(end[0], _RANDOM) and _is_piece(begin[0], _RANDOM))


_RANDOM = 8


def _is_piece(word: str, least: int) -> bool:
    """Whether a word looks like a part of a key: digits among letters or letters of both cases, or very long."""
    is_mixed = any(map(str.isdigit, word)) or (word != word.lower() and word[1:] != word[1:].lower())
    return len(word) >= least and (is_mixed or len(word) >= len(_LONG_WORD))
