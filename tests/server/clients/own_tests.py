"""own_tests.py SOURCE URL: runs LibreTranslate's own API tests against a server. SOURCE is the folder
libretranslate/tests/test_api of its source tree (AGPL-3), which stays outside of this tree. Needs pytest."""

import pathlib
import shutil
import sys
import tempfile

import pytest

# What the tests use of Flask's client, over HTTP.
ADAPTER = '''
import http.client
import json as json_module
import urllib.parse

import pytest

ADDRESS = {address!r}


class Response:
    def __init__(self, response):
        self.status_code = response.status
        self.data = response.read()

    @property
    def json(self):
        return json_module.loads(self.data)


class Client:
    def request(self, method, path, data=None, json=None):
        body, headers = None, {{}}
        if json is not None:
            body, headers = json_module.dumps(json), {{"Content-Type": "application/json"}}
        elif data is not None:
            body, headers = urllib.parse.urlencode(data), {{"Content-Type": "application/x-www-form-urlencoded"}}
        connection = http.client.HTTPConnection(ADDRESS)
        connection.request(method, path, body, headers)
        return Response(connection.getresponse())

    def get(self, path, **rest):
        return self.request("GET", path, **rest)

    def post(self, path, **rest):
        return self.request("POST", path, **rest)


@pytest.fixture
def client():
    return Client()
'''


def main():
    source, url = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        for test in source.glob("test_api_*.py"):
            shutil.copy(test, folder)
        address = url.split("//", 1)[-1].rstrip("/")
        pathlib.Path(folder, "conftest.py").write_text(ADAPTER.format(address=address), encoding="utf-8")
        raise SystemExit(pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", folder, folder]))


main()
