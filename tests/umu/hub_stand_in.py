"""As much of the hub's HTTP interface as fetching one data set needs, on this machine."""

import hashlib
import json
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "c0ffee" + "0" * 34
NAME = "someone/people"


class Handler(BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.answer(with_body=False)

    def do_GET(self):
        self.answer(with_body=True)

    def answer(self, with_body):
        path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
        api, resolve = f"/api/datasets/{NAME}", f"/datasets/{NAME}/resolve/{COMMIT}/"
        files = self.server.files
        self.server.asked.append(path)
        if path == f"{api}/revision/main":
            self.reply(as_json({"id": NAME, "sha": COMMIT, "siblings": []}), with_body)
        elif path == f"{api}/tree/{COMMIT}":
            tree = [
                {"type": "file", "path": name, "size": len(content), "oid": sha1(content)}
                for name, content in files.items()
            ]
            self.reply(as_json(tree), with_body)
        elif path.startswith(resolve) and path.removeprefix(resolve) in files:
            content = files[path.removeprefix(resolve)]
            headers = {"ETag": f'"{sha1(content)}"', "X-Repo-Commit": COMMIT}
            self.reply(content, with_body, headers)
        else:
            code = "RevisionNotFound" if path.startswith(api) else "RepoNotFound"
            self.reply(b"", with_body, {"X-Error-Code": code}, status=404)

    def reply(self, content, with_body, headers=None, status=200):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_body:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def as_json(value):
    return json.dumps(value).encode()


def sha1(content):
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def serve(folder):
    """Serve a folder's files as a data set; `asked` of the server has the paths asked for."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked = []
    server.files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server
