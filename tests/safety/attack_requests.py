"""Attacks by pages of other sites, foreign host names and malformed requests. `{port}` is the gateway's."""

HOSTS = """
evil.example
evil.example:{port}
localhost.evil.example
localhost.evil.example:{port}
127.0.0.1.evil.example:{port}
127-0-0-1.evil.example:{port}
localhost.
localhost.:{port}
127.0.0.1.:{port}
2130706433
2130706433:{port}
0x7f000001:{port}
0x7f.0x0.0x0.0x1:{port}
0177.0.0.1:{port}
017700000001:{port}
127.1:{port}
127.0.1:{port}
127.0.0.2:{port}
127.000.000.001:{port}
0.0.0.0:{port}
0:{port}
[::]:{port}
[::ffff:127.0.0.1]:{port}
[::ffff:7f00:1]:{port}
[0:0:0:0:0:0:0:1]:{port}
[::1%25lo]:{port}
::1
localhost:1
localhost:{port}0
localhost:0{port}
localhost:+{port}
localhost:
localhost:{port}:80
user@localhost:{port}
user:pass@localhost:{port}
localhost:{port}@evil.example
localhost:{port}/evil
localhost:{port}#evil
localhost:{port}?evil
localhost%00.evil.example
localhost%2eevil
localhost\\evil.example
localhost,evil.example
localhost evil.example
http://localhost:{port}
*
\xe2\x93\x9bocalhost:{port}
loca\xc5\x82host:{port}
ip6-localhost
kubernetes.docker.internal
""".strip().splitlines()

ORIGINS = """
null
file://
data:
about:blank
blob:http://localhost:{port}
http://evil.example
https://evil.example
http://evil.example:{port}
http://localhost
http://localhost:1
https://localhost:{port}
ws://localhost:{port}
http://127.0.0.1:{port}
http://[::1]:{port}
http://localhost.:{port}
http://localhost:{port}/
http://localhost:{port}.evil.example
http://localhost:{port}@evil.example
http://evil.example#http://localhost:{port}
http://evil.example?http://localhost:{port}
http://localhost:{port} http://evil.example
http://localhost:{port},http://evil.example
http://localhost:{port}\\.evil.example
chrome-extension://abcdefghijklmnopabcdefghijklmnop
moz-extension://6f1c3b1e-0000-4000-8000-000000000000
safari-web-extension://6F1C3B1E
vscode-webview://localhost
capacitor://localhost
ionic://localhost
app://localhost
http://xn--lcalhost-2za:{port}
""".strip().splitlines()

FETCH_SITES = ["cross-site", "same-site", "", "Cross-Site", "same-origin, cross-site", "none;", "websocket"]

SIMPLE_CONTENT_TYPES = [
    "text/plain",
    "text/plain;charset=UTF-8",
    "text/plain; application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
]
"""What a page of another site may send without a preflight."""


CONNECTION_CLOSE = "\r\nConnection: close\r\n"
OWN_HOST = "Host: localhost:{port}" + CONNECTION_CLOSE
GET = "GET /api/sessions HTTP/1.1\r\n"
POST = "POST /api/sessions HTTP/1.1\r\nContent-Type: application/json\r\n"
EVIL_BODY = '{{"title":"evil"}}'
EVIL_CONTENT = 'Content-Length: 16\r\n\r\n{{"title":"evil"}}'

MALFORMED_REQUESTS = {
    "no host": GET + "Connection: close\r\n\r\n",
    "1.0 without host": "GET /api/sessions HTTP/1.0\r\n\r\n",
    "1.0 with a foreign host": "GET /api/sessions HTTP/1.0\r\nHost: evil.example\r\n\r\n",
    "0.9": "GET /api/sessions\r\n\r\n",
    "2.0": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "an unknown version": "GET /api/sessions HTTP/9.9\r\n" + OWN_HOST + "\r\n",
    "absolute form, foreign": "GET http://evil.example/api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "absolute form, foreign port": "GET http://localhost:1/api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "absolute form, foreign in both": "GET http://evil.example/api/sessions HTTP/1.1\r\nHost: evil.example"
    + CONNECTION_CLOSE
    + "\r\n",
    "absolute form, userinfo": "GET http://localhost:{port}@evil.example/api/sessions HTTP/1.1\r\n"
    + OWN_HOST
    + "\r\n",
    "absolute form, other scheme": "GET ftp://evil.example/api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "absolute form that changes": "POST http://evil.example/api/sessions HTTP/1.1\r\n"
    "Content-Type: application/json\r\n" + OWN_HOST + EVIL_CONTENT,
    "authority form": "GET evil.example:80 HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "network path": "GET //evil.example/api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "asterisk": "OPTIONS * HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "connect": "CONNECT evil.example:443 HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "connect to us": "CONNECT localhost:{port} HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "trace": "TRACE /api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "track": "TRACK /api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "debug": "DEBUG /api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "a small method": "get /api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "purge": "PURGE /api/sessions HTTP/1.1\r\n" + OWN_HOST + "\r\n",
    "two hosts": GET + "Host: localhost:{port}\r\nHost: evil.example" + CONNECTION_CLOSE + "\r\n",
    "two hosts, in reverse order": GET + "Host: evil.example\r\n" + OWN_HOST + "\r\n",
    "two equal hosts": GET + "Host: localhost:{port}\r\n" + OWN_HOST + "\r\n",
    "a folded host": GET + "Host:\r\n localhost:{port}" + CONNECTION_CLOSE + "\r\n",
    "a host with a space before its colon": GET + "Host : localhost:{port}" + CONNECTION_CLOSE + "\r\n",
    "two origins": GET
    + "Origin: http://localhost:{port}\r\nOrigin: http://evil.example\r\n"
    + OWN_HOST
    + "\r\n",
    "two sites": GET + "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site\r\n" + OWN_HOST + "\r\n",
    "two content types": POST + "Content-Type: text/plain\r\n" + OWN_HOST + EVIL_CONTENT,
    "two lengths": POST + "Content-Length: 2\r\n" + OWN_HOST + EVIL_CONTENT,
    "a length and chunks": POST + "Transfer-Encoding: chunked\r\n" + OWN_HOST + EVIL_CONTENT,
    "chunks spelt oddly": POST + "Transfer-Encoding: xchunked\r\n" + OWN_HOST + "\r\n10\r\n" + EVIL_BODY,
    "chunks twice": POST
    + "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"
    + OWN_HOST
    + "\r\n0\r\n\r\n",
    "chunks behind a space": POST + "Transfer-Encoding : chunked\r\n" + OWN_HOST + "\r\n10\r\n" + EVIL_BODY,
    "a length with a sign": POST + "Content-Length: +16\r\n" + OWN_HOST + "\r\n" + EVIL_BODY,
    "a packed body": POST + "Content-Encoding: gzip\r\n" + OWN_HOST + EVIL_CONTENT,
    "a header without a name": GET + ": evil\r\n" + OWN_HOST + "\r\n",
    "a header with NUL": GET + "X-Evil: a\x00b\r\n" + OWN_HOST + "\r\n",
    "a header with a bare CR": GET + "X-Evil: a\rOrigin: http://evil.example\r\n" + OWN_HOST + "\r\n",
    "a header cut by LF": GET + "X-Evil: a\nOrigin: http://evil.example\r\n" + OWN_HOST + "\r\n",
    "a socket of another site": "GET /api/turns/{turn}/events HTTP/1.1\r\nUpgrade: websocket\r\n"
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
    "Origin: http://evil.example\r\nHost: localhost:{port}\r\nConnection: close, Upgrade\r\n\r\n",
}
"""Malformed requests as bytes. Every one must be refused."""


PATHS = """
/api/sessions/
/api//sessions
//api/sessions
/./api/sessions
/api/./sessions
/api/x/../sessions
/../api/sessions
/api/sessions/..
/api/sessions/{session}/../{session}
/api/sessions/{session}/.
/api/sessions/{session}/
/api/sessions/{session}%00
/api/sessions/{session}%00/messages
/api/sessions/{session}%20
/api/sessions/{session}%0d%0aX-Evil:%201
/api/sessions/{session}%0a
/api/sessions/{session}%2f
/api/sessions/{session}%2fmessages
/api/sessions/{session}%2Fexport
/api/sessions/{session}%252fmessages
/api/sessions/{session}%5cmessages
/api/sessions/{session};x
/api/sessions/{session}..;/messages
/api/sessions/%2e%2e/sessions
/api/sessions/..%2f..%2fapi%2fsessions
/api/sessions/..%5c..%5cetc%5cpasswd
/api/sessions/%c0%ae%c0%ae/
/api/sessions/%ff
/api%2fsessions
/api%2Fturns%2F{turn}
/API/sessions
/api/Sessions
/api/sessions.json
/api/sessions%23
/api/sessions%3f
/api/turns/{session}
/api/sessions/{turn}
/api/sessions/{session}{session}
/etc/passwd
/..%2f..%2f..%2fetc%2fpasswd
/thinkaloud.db
/static/../thinkaloud.db
""".strip().splitlines()
