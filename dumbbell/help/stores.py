"""Errors of stores."""

from __future__ import annotations

from dumbbell.codes import Code
from dumbbell.help.page import Call, Group, Page

_STORE = "store.md"
_DAMAGE = "store.md#damaged-unfinished-and-old-stores"

GROUP = Group(
    "Stores",
    (
        Page(
            Code.STORE,
            "a store",
            "The name of the store is no UTF-8, or the store is open for reading only.",
            "Choose another folder.",
            Call(
                "dumbbell run example.yaml --store NAME",
                "dumbbell run example.yaml --store other",
                staged=True,
            ),
            _STORE,
        ),
        Page(
            Code.NOT_STORE,
            "not a store",
            "The folder or file is not a store of Dumbbell.",
            "Name the folder that `dumbbell run --store` wrote, by default `store`.",
            Call("dumbbell store ls example.yaml", "dumbbell store ls store"),
            _STORE,
        ),
        Page(
            Code.DAMAGED,
            "a damaged store",
            "A file of the store is missing, cut off or altered; its checksum tells.",
            "`dumbbell store repair STORE`, then run the experiment again: only damaged runs are "
            "made.",
            Call(
                'dumbbell query store "select * from flows"',
                "dumbbell store repair store",
                staged=True,
            ),
            _DAMAGE,
        ),
        Page(
            Code.NO_EXPERIMENT,
            "no experiment in the store",
            "Nothing was run into this store, or no experiment there has this name.",
            "`dumbbell store ls STORE` lists what is there.",
            Call('dumbbell query store "select 1" --experiment none', "dumbbell store ls store"),
            _STORE,
        ),
        Page(
            Code.NEWER,
            "a store of a newer version",
            "A later version of Dumbbell wrote the store in a format that this one does not know.",
            "Install the later version. The store is left as it is.",
            Call("dumbbell store ls store", "pip install --upgrade dumbbell-lab", staged=True),
            _STORE,
        ),
        Page(
            Code.URL,
            "a store at a URL",
            "The URL is misspelled, or what it names does not answer or refuses.",
            "Write `s3://bucket/folder` with two slashes; check credentials and the network.",
            Call("dumbbell store ls nosuch://bucket/sweep", "dumbbell store ls s3://bucket/sweep"),
            "store.md#stores-at-a-url",
        ),
        Page(
            Code.MERGE,
            "stores that cannot be merged",
            "They are of different experiments, versions of the engine or shards, or one is the "
            "output.",
            "Merge stores of one experiment into a new one.",
            Call("dumbbell store merge store store -o store", "dumbbell store merge a b -o store"),
            "store.md#merging-stores",
        ),
        Page(
            Code.STORE_ACCESS,
            "the system refuses the store",
            "The store cannot be opened or written: no rights, a full disk, a file in its place.",
            "The message has the reason that the system gives. Finished runs are kept.",
            Call(
                "dumbbell run example.yaml --store example.yaml",
                "dumbbell run example.yaml --store store",
            ),
            _DAMAGE,
        ),
        Page(
            Code.NO_RUN,
            "no such run",
            "The store has no finished run with this id, cell or repeat.",
            "`dumbbell store ls STORE` says what is finished.",
            Call("dumbbell store show store ffffffffffff", "dumbbell store ls store"),
            _STORE,
        ),
    ),
)
