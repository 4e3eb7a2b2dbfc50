"""Credentials in the shapes in which errors, parameters and metadata show them; all are made up here, none works.

Every value is computed from the name of its shape, so that this file holds nothing that a scanner takes for a key.
"""

from __future__ import annotations

import base64
import hashlib
import re
import string
import textwrap

_LETTERS = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"


def fake(name: str, length: int, letters: str = _LETTERS) -> str:
    """Return a made-up value with a digit, a lower-case and an upper-case letter where the letters allow it."""
    number, found = int.from_bytes(hashlib.sha512(name.encode()).digest() * 4), list[str]()
    while len(found) < length:
        number, place = divmod(number, len(letters))
        found.append(letters[place])
    value = "".join(found)
    return value if letters != _LETTERS else f"{value[: length // 2]}q7Z{value[length // 2 + 3 :]}"


# What stands before the value; its length and letters. The value alone is the canary.
_PREFIXED: dict[str, tuple[str, int, str]] = {
    "OpenAI": ("sk-", 48, _LETTERS),
    "OpenAI project": ("sk-" + "proj-", 64, _LETTERS),
    "Anthropic": ("sk-" + "ant-api03-", 80, _LETTERS),
    "OpenRouter": ("sk-" + "or-v1-", 64, _HEX),
    "Langfuse secret": ("sk-" + "lf-", 32, _HEX),
    "Langfuse public": ("pk-" + "lf-", 32, _HEX),
    "LangSmith": ("lsv2_" + "pt_", 42, _HEX),
    "Hugging Face": ("hf" + "_", 34, _LETTERS),
    "GitHub": ("ghp" + "_", 36, _LETTERS),
    "GitHub OAuth": ("gho" + "_", 36, _LETTERS),
    "GitHub user": ("ghu" + "_", 36, _LETTERS),
    "GitHub server": ("ghs" + "_", 36, _LETTERS),
    "GitHub refresh": ("ghr" + "_", 36, _LETTERS),
    "GitHub fine-grained": ("github" + "_pat_", 82, _LETTERS),
    "GitLab": ("glpat" + "-", 20, _LETTERS),
    "GitLab deploy": ("gldt" + "-", 20, _LETTERS),
    "GitLab runner": ("glrt" + "-", 20, _LETTERS),
    "Slack bot": ("xoxb" + "-", 50, _LETTERS),
    "Slack user": ("xoxp" + "-", 50, _LETTERS),
    "Slack app": ("xapp" + "-1-", 50, _LETTERS),
    "Slack webhook": ("https://hooks.slack" + ".com/services/", 44, _LETTERS),
    "Discord webhook": ("https://discord" + ".com/api/webhooks/1234567890/", 68, _LETTERS),
    "Teams webhook": ("https://x.webhook.office" + ".com/webhookb2/", 60, _LETTERS),
    "Stripe": ("sk" + "_live_", 24, _LETTERS),
    "Stripe restricted": ("rk" + "_live_", 24, _LETTERS),
    "Stripe webhook": ("whsec" + "_", 32, _LETTERS),
    "AWS key id": ("AK" + "IA", 16, string.ascii_uppercase + string.digits),
    "AWS session key id": ("AS" + "IA", 16, string.ascii_uppercase + string.digits),
    "Google API": ("AI" + "za", 35, _LETTERS),
    "Google OAuth": ("ya" + "29.", 60, _LETTERS),
    "Google client": ("GOC" + "SPX-", 28, _LETTERS),
    "Pinecone": ("pcsk" + "_", 60, _LETTERS),
    "npm": ("npm" + "_", 36, _LETTERS),
    "PyPI": ("pypi" + "-", 80, _LETTERS),
    "Voyage": ("pa" + "-", 43, _LETTERS),
    "Groq": ("gsk" + "_", 52, _LETTERS),
    "xAI": ("xai" + "-", 80, _LETTERS),
    "NVIDIA": ("nva" + "pi-", 64, _LETTERS),
    "Replicate": ("r8" + "_", 37, _LETTERS),
    "Perplexity": ("ppl" + "x-", 48, _LETTERS),
    "Tavily": ("tv" + "ly-", 32, _LETTERS),
    "Jina": ("ji" + "na_", 60, _LETTERS),
    "Databricks": ("da" + "pi", 32, _HEX),
    "DigitalOcean": ("dop" + "_v1_", 64, _HEX),
    "SendGrid": ("SG" + ".", 22, _LETTERS),
    "Twilio key": ("SK", 32, _HEX),
    "Twilio account": ("AC", 32, _HEX),
    "Mailgun": ("key" + "-", 32, _HEX),
    "Shopify": ("shp" + "at_", 32, _HEX),
    "Vault": ("hv" + "s.", 24, _LETTERS),
    "Doppler": ("dp" + ".st.", 40, _LETTERS),
    "Linear": ("lin" + "_api_", 40, _LETTERS),
    "Notion": ("ntn" + "_", 46, _LETTERS),
    "Notion of before": ("secret" + "_", 43, _LETTERS),
    "Fly": ("fm" + "2_", 60, _LETTERS),
    "Sentry": ("sntr" + "ys_", 60, _LETTERS),
    "Grafana": ("gl" + "sa_", 32, _LETTERS),
    "Docker": ("dckr" + "_pat_", 27, _LETTERS),
    "Supabase": ("sb" + "p_", 40, _HEX),
    "Atlassian": ("ATA" + "TT3", 60, _LETTERS),
    "Telegram": ("1234567890:" + "AA", 33, _LETTERS),
    "Tailscale": ("tskey" + "-auth-", 30, _LETTERS),
    "New Relic": ("NR" + "AK-", 27, string.ascii_uppercase + string.digits),
    "Figma": ("fig" + "d_", 40, _LETTERS),
    "Postman": ("PM" + "AK-", 59, _HEX),
    "JWT": ("ey" + "J", 40, _LETTERS),
}
# What stands around a value: `{}`.
_AROUND: dict[str, str] = {
    "DB_PASS": "DB_PASS={}",
    "DB_PWD": "could not log in with DB_PWD={}",
    "ODBC": "DRIVER=pg;UID=me;PWD={};PORT=5432",
    "MYSQL_PWD": "export MYSQL_PWD='{}'",
    "AWS secret": "aws_secret_access_key={}",
    "AWS secret in a file": "aws_secret_access_key = {}",
    "AWS session": "AWS_SESSION_TOKEN={}",
    "dict": "{{'token': '{}', 'n': 5}}",
    "JSON": '{{"client_secret":"{}","n":5}}',
    "JSON in JSON": '"{{\\"password\\": \\"{}\\", \\"n\\": 5}}"',
    "dict of words": "{{'password': 'correct {} staple', 'n': 5}}",
    "bytes": "[(b'x-api-key', b'{}'), (b'accept', b'*/*')]",
    "keyword": "Client(host='h', api_key='{}')",
    "dataclass": "Settings(user='me', db_password='{}', pool=5)",
    "camel case": "clientSecret: {}",
    "camel case token": 'accessToken="{}"',
    "dash": "private-key: {}",
    "x_token": "x_token={}",
    "environment": "environ({{'HOME': '/root', 'GIT_TOKEN': '{}'}})",
    "index": "os.environ['SERVICE_PASSWORD'] = '{}'",
    "YAML": "db: user: me password: {}",
    "TOML": 'api_key = "{}"',
    "XML": "<password>{}</password>",
    "Azure storage": "DefaultEndpointsProtocol=https;AccountName=a;AccountKey={}==;EndpointSuffix=core.windows.net",
    "Azure bus": "Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={}=",
    "Azure signature": "https://a.blob.core.windows.net/c/f.pdf?sv=2024-01-01&se=2030&sr=b&sig={}%3D",
    "AWS signature": "https://b.s3.amazonaws.com/f.pdf?X-Amz-Date=2026&X-Amz-Signature={}&x=1",
    "AWS credential": "https://b.s3.amazonaws.com/f.pdf?X-Amz-Credential={}%2F2026&x=1",
    "Google signature": "https://storage.googleapis.com/b/f.pdf?X-Goog-Signature={}",
    "query key": "GET https://x.example/v1?q=a@b&key={}&n=5: 403",
    "query token": "wss://x.example/v1?access_token={}#top",
    "userinfo": "503 for https://me:{}@search.example/v1",
    "userinfo of a name": "https://{}@sentry.example/42",
    "userinfo with an @": "https://me:p@ss{}@search.example/v1",
    "userinfo with a slash": "postgres://me:a/b#c?{}@host:5432/db",
    "postgres": "postgresql+psycopg2://me:{}@host:5432/db is down",
    "redis": "redis://:{}@cache:6379/0",
    "amqp": "amqps://me:{}@queue/%2f",
    "mongodb": "mongodb+srv://me:{}@a.example,b.example/db?retryWrites=true",
    "elastic": "NodeConfig(https://elastic:{}@es:9200)",
    "JDBC": "jdbc:postgresql://host/db?user=me&password={}",
    "JDBC of SQL Server": "jdbc:sqlserver://host:1433;user=me;password={};encrypt=true",
    "JDBC of Oracle": "jdbc:oracle:thin:scott/{}@//host:1521/x",
    "libpq": "host=h dbname=d user=me password={} sslmode=require",
    "basic": "Authorization: Basic {}",
    "bearer": "headers: Authorization: Bearer {}, n=5",
    "bearer alone": "the server refused bearer {}",
    "token scheme": "Authorization: Token {}",
    "unknown scheme": "authorization: SSWS {}",
    "no scheme": "Authorization: {}",
    "Digest": 'Authorization: Digest username="me", realm="r", response="{}", nc=1',
    "AWS4": "Authorization: AWS4-HMAC-SHA256 Credential=me/20260101/s3, SignedHeaders=host, Signature={}",
    "headers": "{{'Authorization': 'Bearer {}', 'Accept': '*/*'}}",
    "headers in JSON": '{{"authorization":"ApiKey {}","accept":"*/*"}}',
    "proxy": "Proxy-Authorization: Basic {}",
    "X-Api-Key": "X-Api-Key: {}",
    "api-key": "{{'api-key': '{}'}}",
    "x-goog-api-key": "x-goog-api-key: {}",
    "subscription": "Ocp-Apim-Subscription-Key: {}",
    "GitLab header": "PRIVATE-TOKEN: {}",
    "Vault header": "X-Vault-Token: {}",
    "cookie": "Cookie: theme=dark; sessionid={}; lang=en",
    "Set-Cookie": "Set-Cookie: sid={}; HttpOnly; Path=/",
    "cookies": "cookies={{'sessionid': '{}'}}",
    "cookie jar": "<RequestsCookieJar[<Cookie sessionid={} for x.example/>]>",
    "cookie in a dict": "{{'Cookie': 'a=1; sessionid={}', 'n': 5}}",
    "option": "krag --token {} --k 5",
    "option with =": "mysql --password={} db",
    "curl -u": "curl -u me:{} https://x.example",
    "curl -H": "curl -H 'X-Auth-Token: {}' https://x.example",
    "Weights & Biases": "WANDB_API_KEY={}",
    "Cohere": "co.Client(token='{}')",
    "Qdrant": "QdrantClient(url='https://q', api_key='{}')",
    "Weaviate": "AuthApiKey(api_key='{}')",
    "Azure OpenAI": "AZURE_OPENAI_API_KEY={}",
    "a service alone": "AZURE_OPENAI_KEY={} python app.py",
    "a service alone, quoted": "export COHERE_KEY='{}'",
    "DSN": "SENTRY_DSN=https://{}@o1.ingest.sentry.io/2",
    "provided": "Incorrect API key provided: {}. You can find yours",
    "connection string": "connection_string='{}'",
    "passphrase": "passphrase={}",
    "encoded": "password%3D{}%26n%3D5",
}
# Kinds that are seen less often: brackets, full-width signs and words right after a value, quoting of other languages,
# clients' arguments, other providers, headers in a `repr`, command lines.
_PREFIXED |= {
    "OpenAI service account": ("sk-" + "svcacct-", 74, _LETTERS),
    "AWS Bedrock": ("AB" + "SK", 128, _LETTERS),
    "Fireworks": ("fw" + "_", 24, _LETTERS),
    "Cerebras": ("cs" + "k-", 48, _LETTERS),
    "LlamaCloud": ("ll" + "x-", 48, _LETTERS),
    "Firecrawl": ("f" + "c-", 32, _HEX),
    "ElevenLabs": ("s" + "k_", 48, _HEX),
    "RunPod": ("rp" + "a_", 44, _LETTERS),
    "E2B": ("e2" + "b_", 40, _HEX),
    "Prefect": ("pn" + "u_", 36, _LETTERS),
    "PostHog": ("ph" + "x_", 43, _LETTERS),
    "Vercel": ("vc" + "p_", 56, _LETTERS),
    "Neon": ("nap" + "i_", 64, _LETTERS),
    "PlanetScale": ("pscale" + "_pw_", 43, _LETTERS),
    "CircleCI": ("CCI" + "PAT_", 62, _LETTERS),
    "Buildkite": ("bku" + "a_", 40, _HEX),
    "Alibaba": ("LT" + "AI5t", 20, _LETTERS),
    "Yandex": ("AQ" + "VN", 36, _LETTERS),
    "Kaggle": ("KG" + "AT_", 32, _HEX),
    "Brevo": ("xkey" + "sib-", 64, _HEX),
    "Dynatrace": ("dt0c" + "01.", 24, string.ascii_uppercase + string.digits),
    "Google refresh": ("1/" + "/0", 60, _LETTERS),
    "Upstage": ("u" + "p_", 29, _LETTERS),
}
_AROUND |= {
    "Korean bracket": "비밀번호: {}(만료됨)",
    "Korean bracket after a name": "api_key={}(이미 만료된 키)",
    "square bracket": "password={}[재시도 3회]",
    "Korean particle": "api_key={}를 확인하세요",
    "Korean sentence": "비밀번호는 {}입니다",
    "Korean token": "토큰: {}가 거부되었습니다",
    "Chinese": "密码：{}，请重试",
    "Chinese bracket": "密钥：{}（已过期）",
    "Chinese quotes": "口令：「{}」",
    "full-width colon": "password：{}",
    "full-width equals": "api_key＝{}。",
    "full-width letters": "ｐａｓｓｗｏｒｄ＝{}",
    "full-width comma": "secret={}，请联系管理员",
    "Japanese": "パスワード：{}です",
    "Russian": "пароль: {} не подошёл",
    "Russian token": "Токен «{}» отозван",
    "YAML in double quotes": 'password: "{}"',
    "YAML in single quotes": "db:\n  password: '{}'\n  port: 5432",
    "YAML block": "api_key: |\n  {}\nport: 5432",
    "YAML folded": "client_secret: >-\n    {}\nport: 5432",
    "TOML of several lines": 'password = """\n{}\n"""',
    "TOML in single quotes": "[db]\nsecretKey = '{}'\nport = 5",
    "properties": "spring.datasource.password={}",
    "JSON with a space": '{{"secretKey" : "{}"}}',
    "http_auth": "OpenSearch(hosts=[h], http_auth=('admin', '{}'), use_ssl=True)",
    "http_auth in a list": 'Elasticsearch("https://h", http_auth=["admin", "{}"])',
    "basic_auth": "Elasticsearch('https://h', basic_auth=('elastic', '{}'))",
    "HTTPBasicAuth": "requests.get(u, auth=HTTPBasicAuth('me', '{}'))",
    "auth in a dict": "{{'auth': ('me', '{}'), 'timeout': 5}}",
    "neo4j": "GraphDatabase.driver('bolt://h', auth=('neo4j', '{}'))",
    "Rust": 'Config {{ api_key: Some("{}"), n: 5 }}',
    "Rust secret": 'Config {{ password: Secret("{}") }}',
    "SecretStr": "Settings(api_key=SecretStr('{}'), n=5)",
    "SecretStr without quotes": "password=SecretStr({})",
    "Go": "&{{Host:h Password:{} Port:5}}",
    "Java": "AuthCredentials{{user=me, password={}, port=5}}",
    "Weaviate key": 'Auth.api_key("{}")',
    "AuthApiKey": "AuthApiKey('{}')",
    "camel case secret": "secretKey={}",
    "camel case password": "dbPassword: '{}'",
    "camel case pass": "userPass={}",
    "Pascal case": "SharedAccessKey={}",
    "ADO": "Server=h;User Id=me;Pwd={};Encrypt=yes",
    "Snowflake": "snowflake://me:{}@account/db?warehouse=w",
    "MinIO": "s3://me:{}@minio:9000/bucket",
    "Kafka": 'sasl.jaas.config=PlainLoginModule required username="me" password="{}";',
    "LDAP": "bind_dn=cn=me bindpw={}",
    "headers in pairs": "Headers([('host', 'h'), ('x-api-key', '{}'), ('accept', '*/*')])",
    "httpx": "Headers({{'host': 'h', 'authorization': 'Bearer {}'}})",
    "bytes of a header": "[(b'authorization', b'Bearer {}')]",
    "list of lists": '[["api-key", "{}"], ["accept", "*/*"]]',
    "gRPC metadata": "(_Metadatum(key='authorization', value='Bearer {}'),)",
    "raw HTTP": "POST /v1 HTTP/1.1\r\nHost: h\r\nX-Api-Key: {}\r\n\r\n",
    "argument list": "['krag', '--api-key', '{}', '--k', '5']",
    "mysql -p": "mysql -h host -u me -p{} db",
    "redis-cli": "redis-cli -h cache -a {} ping",
    "fragment": "https://x.example/cb#access_token={}&state=1",
    "border": "│ password = {} │",
    "Kubernetes": "env:\n  - name: NEO4J_PASSWORD\n    value: {}\n  - name: MODE\n",
    "XML with attributes": '<wsse:Password Type="text">{}</wsse:Password>',
    "print_r": "Array ( [user] => app [password] => {} )",
    "annotated": "api_key: Optional[str] = '{}'",
    "arrow": "EsConf(host -> es, password -> {})",
    "in braces": "DRIVER=x;UID=app;PWD={{a;{}}};",
    "SQL": "CREATE USER rag WITH PASSWORD '{}';",
    "MySQL's SQL": "CREATE USER 'rag'@'%' IDENTIFIED BY '{}';",
    "redis.conf": "bind 0.0.0.0\nrequirepass {}\nmaxmemory 1gb",
    "netrc": "machine repo.example login ci password {}",
    "said to be set": "MISTRAL_API_KEY is set to {} but was refused",
    "keytool": "keytool -list -keystore k.jks -storepass {}",
    "session in a path": "/path;jsessionid={}?x=1",
    "encoded ODBC": "mssql+pyodbc:///?odbc_connect=UID%3Dsa%3BPWD%3D{}%3BEncrypt%3Dyes",
    "backticks": "the password: `{}` was refused",
    "Japanese key": "秘密鍵：{}",
    "Chinese private key": "私钥={}，请检查",
    "Polish": "hasło: {}",
    "Arabic": "كلمة المرور: {}",
    "YAML list": "ALLOWED_API_KEYS:\n  - {}\nport: 5",
    "YAML anchor": "api_key: &key {}\nother: *key",
    "YAML tag": "api_key: !!str {}",
    "HCL": 'variable "db_password" {{\n  type    = string\n  default = "{}"\n}}',
    "property without a sign": "es.net.http.auth.pass {}",
    "tab": "SECRET_KEY\t'{}'",
    "pgpass": "db.example.com:5432:app:app:{}",
    "pydantic": "api_key\n  Input should be 3 [type=literal_error, input_value='{}', input_type=str]",
    "var_dump": '["password"]=>\n  string(24) "{}"',
    "Kafka's registry": "basic.auth.user.info=app:{}",
    "OTLP headers": "OTEL_EXPORTER_OTLP_HEADERS=x-honeycomb-team={}",
    "AUTH of Redis": "AUTH default {}",
    "gh secret": "gh secret set OPENAI --body '{}'",
    "mask of a log": "::add-mask::{}",
    "Infura": "https://mainnet.infura.io/v3/{}",
    "Alchemy": "https://eth-mainnet.g.alchemy.com/v2/{}",
    "Poetry": "poetry config http-basic.private me {}",
}
_PEM = "-----BEGIN {kind}PRIVATE " + "KEY-----{n}{body}{n}-----END {kind}PRIVATE " + "KEY-----"
_JWT = [base64.urlsafe_b64encode(fake(f"jwt {n}", 30).encode()).decode() for n in range(3)]


def _shapes() -> dict[str, tuple[str, str]]:
    made = {}
    for name, (prefix, length, letters) in _PREFIXED.items():
        value = fake(name, length, letters)
        made[name] = f"401: {prefix}{value} was refused", value
    for name, text in _AROUND.items():
        value = fake(name, 24)
        made[name] = text.format(value), value
    for name, kind, end in (("PEM", "", "\n"), ("RSA", "RSA ", "\n"), ("PEM in JSON", "", "\\n"), ("EC", "EC ", " ")):
        value = fake(name, 64)
        made[name] = f"key: {_PEM.format(kind=kind, n=end, body=value)} of me", value
    value = fake("service account", 64)
    key = _PEM.format(kind="", n="\\n", body=value)
    made["service account"] = f'{{"type": "service_account", "private_key": "{key}\\n", "client_email": "a@b"}}', value
    for name, before in (("wrapped", "401 for the request with api_key="), ("wrapped prefix", f"401: h{'f'}_")):
        value = fake(name, 60)
        made[name] = "\n".join(textwrap.wrap(f"{before}{value} at the host of the index", 48)), value
        made[f"{name}, with borders"] = (
            "\n".join(f"│ {line:<48} │" for line in textwrap.wrap(f"{before}{value} at the host of the index", 48)),
            value,
        )
    made["JWT of three parts"] = f"the token ey{'J'}{_JWT[0]}.ey{'J'}{_JWT[1]}.{_JWT[2]} has expired", _JWT[2]
    made["SendGrid of two parts"] = f"401: SG.{fake('sg', 22)}.{fake('sg 2', 43)}", fake("sg 2", 43)
    made["Terraform"] = f"401: {fake('tf', 14)}.atlas{'v1'}.{fake('tf 2', 60)}", fake("tf 2", 60)
    made["Discord"] = f"401: M{fake('d', 25)}.{fake('d 2', 6)}.{fake('d 3', 38)}", fake("d 3", 38)
    made["Azure client"] = f"401: a1B8Q~{fake('az 2', 34)}", fake("az 2", 34)
    made["Airtable"] = f"401: pat{fake('at', 14)}.{fake('at 2', 64, _HEX)}", fake("at 2", 64, _HEX)
    return made


SHAPES = _shapes()
"""By name: a text, and the credential that stands in it."""


def leaked(text: str) -> list[str]:
    """Return the names of the shapes whose credential, or either half of it, stands in a text, wrapped or not."""
    text += re.sub(r"[ │]*\n[ │]*", "", f"\n{text}")
    return [
        name
        for name, (_, value) in SHAPES.items()
        if value[: len(value) // 2] in text or value[len(value) // 2 :] in text
    ]
