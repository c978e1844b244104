"""The process that gateways and commands of tests are forked from.

It has imported everything that they need: a new Python would take a second of computing for that. There is
one for all tests of a worker, and it has only one list of imports, so the list is here.
"""

import multiprocessing

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(
    [
        "alembic.command",
        "tests.cli.forked_command",
        "tests.patient_gateway",
        "thinkaloud.builtin.server",
        "thinkaloud.cli.commands.ask_turn",
        "thinkaloud.cli.commands.serve",
        "thinkaloud.cli.commands.users",
        "thinkaloud.cli.gateway_client",
        "thinkaloud.cli.parser",
        "thinkaloud.gateway.server.http.app",
        "thinkaloud.gateway.server.logs",
        "thinkaloud.gateway.server.run",
        "thinkaloud.gateway.store.engine.copy",
        "thinkaloud.gateway.store.engine.postgres",
        "thinkaloud.gateway.store.engine.sqlite",
        "uvicorn.protocols.http.httptools_impl",
        "uvloop",
    ]
)
