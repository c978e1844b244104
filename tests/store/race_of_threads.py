"""Uses the types that are decoded in threads for the first time, in several threads at once.

msgspec crashes then, unless a type was built when its module was imported.
"""

import sys
import threading

import msgspec

from thinkaloud.core.export.record import read_json
from thinkaloud.core.view import Policy
from thinkaloud.gateway.store.log.commands import CommandRow
from thinkaloud.gateway.store.rows import Preferences, TurnRow

THREADS = 8
FILE = b'{"thinkaloud":1,"title":"","created_ms":null,"exchanges":[]}'


def decode(together: threading.Barrier) -> None:
    together.wait()
    for decoded in (TurnRow, Preferences, CommandRow, Policy):
        fields = {field.encode_name: None for field in msgspec.structs.fields(decoded)}
        try:
            msgspec.convert(fields, decoded)
        except msgspec.ValidationError:
            continue
    read_json(FILE)


def main() -> None:
    sys.setswitchinterval(1e-7)
    together = threading.Barrier(THREADS)
    threads = [threading.Thread(target=decode, args=(together,)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
