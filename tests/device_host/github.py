"""Plays the one call of GitHub's API that a device host makes; writes down what it was asked."""

import base64
import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


class Api(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        seen = {"path": self.path, "token": self.headers["Authorization"], "body": body}
        with Path("/var/log/github").open("a", encoding="utf-8") as log:
            log.write(json.dumps(seen) + "\n")
        config = base64.b64encode(f"configuration of {body['name']}".encode()).decode()
        answer = json.dumps({"runner": {"id": 1}, "encoded_jit_config": config}).encode()
        self.send_response(201)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


HTTPServer(("127.0.0.1", int(sys.argv[1])), Api).serve_forever()
