# SPDX-License-Identifier: Apache-2.0
"""Faults of the torture that replace etcd while nodes work, die and start.

    foreign(torture, has_data=True)      # back() undoes it: nodes go on with the right etcd
    restore(torture)                     # accept() ends it, by the book

etcd.era is odd meanwhile: whoever asks for records gets no answer, and the torture goes by those
that it has seen last, since no node may change one.
"""

import contextlib
import os
import shutil

from cluster_client import now
from etcd_servers import NoAnswer
from resp_client import await_that, pause
from restored_etcd import EtcdBackup, end_by_the_book

RESTORE = "etcd restored under load"
FOREIGN = "etcd of another cluster"
NO_DATA = "an empty etcd"

ARRIVES_S = 0.05  # what a node has sent to etcd before it was frozen
LOOK_S = 5
BEFORE_S = (0.5, 5)  # between the snapshot and its use
EPOCHS = 5  # that the other cluster is ahead


@contextlib.contextmanager
def replaced(torture):
    """Nodes stand still for a moment, until the last change of a record has been seen. Raises
    NoAnswer if it is not."""
    etcd, nodes = torture.cluster.etcd, [node for node in torture.cluster.nodes
                                         if torture.runs(node)]
    for node in nodes:
        node.freeze()
    try:
        pause(ARRIVES_S)
        since = now()
        while torture.watch.last < since:
            if now() > since + LOOK_S:
                raise NoAnswer("the watch has seen nothing")
            pause(0.01)
        torture.known = torture.shards()
        etcd.era += 1
        etcd.kill_all()
    finally:
        for node in nodes:
            node.thaw()
    yield


def is_there(torture):
    return torture.cluster.etcd.era % 2 == 0


def foreign(torture, has_data):
    """Another etcd is at these addresses for a while. It may have records of a cluster of this
    name, later than ours, by which other nodes lead."""
    if not is_there(torture):
        return False
    etcd = torture.cluster.etcd
    records = etcd.client.read("/mayfly/")
    token = f"other-{torture.chance.random()}"
    with replaced(torture):
        etcd.switch(token)
    if has_data:
        for key, text in foreign_records(records).items():
            with contextlib.suppress(NoAnswer):
                etcd.client.put("/mayfly/" + key, text)
    torture.undo.append((now() + torture.seconds() * 2, lambda: back(torture)))
    return True


def foreign_records(records):
    """{key: text}. In each shard a replica leads, in a later epoch. They have no processes."""
    found = {}
    for key, record in records.items():
        if "/live/" in key:
            continue
        lines = record.text.splitlines()
        if "/shards/" in key:
            lines = [later(line) for line in lines]
            replicas = [line for line in lines if line.startswith("insync ")]
            if replicas:
                lines = [swap(line, replicas[0]) for line in lines]
        found[key] = "\n".join(lines) + "\n"
    return found


def later(line):
    word, _, value = line.partition(" ")
    return f"epoch {int(value) + EPOCHS}" if word == "epoch" else line


def swap(line, replica):
    if line.startswith("primary "):
        return "primary " + replica.partition(" ")[2]
    return line


def back(torture):
    """The etcd of the cluster is there again, as it was."""
    etcd = torture.cluster.etcd
    if is_there(torture):
        return
    others = {member.token for member in etcd.members} - {""}
    etcd.switch()
    etcd.era += 1
    for member in etcd.members:
        for token in others:
            shutil.rmtree(os.path.join(member.data_folder(), member.name + token),
                          ignore_errors=True)


def restore(torture):
    """etcd is restored from a snapshot that is older than the last changes; later all is done by
    the book. Nodes keep their data."""
    if not is_there(torture) or torture.waiting:
        return False
    backup = EtcdBackup(torture.cluster.etcd)
    backup.save()
    end = now() + torture.chance.uniform(*BEFORE_S)
    while now() < end:
        with contextlib.suppress(NoAnswer):
            torture.chance.choice([torture.hand_over, lambda: torture.kill(
                torture.some_primary(), None)])()
        pause(0.5)
    token = torture.chance.choice([None, f"token-{torture.chance.random()}"])
    with replaced(torture):
        backup.restore(token)
    torture.say(f"etcd has {'another' if token else 'its own'} id")
    torture.undo.append((now() + torture.seconds() * 2, lambda: accept(torture)))
    return True


def accept(torture):
    """As docs/cluster.md says, when all other faults are over."""
    if is_there(torture):
        return
    torture.mend()
    torture.cluster.etcd.era += 1
    end_by_the_book(torture.cluster)
    await_that(torture.cluster.is_in_sync, torture.cluster.told)
