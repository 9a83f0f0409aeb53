# SPDX-License-Identifier: Apache-2.0
r"""The text form of fuzzer inputs: tests/fuzz/x.seeds has one input of the fuzzer x per line.

Printable ASCII stands for itself. Other bytes are \r, \n, \t, \\ and \xNN. \*N; repeats the byte
before it N more times. Blank lines are ignored, and so are lines that begin with #. A comment
right before an input says which defect it found; such an input is never minimized away.

tests/fuzz/run_corpus.cc reads this form too.
"""

import re

SHORT = {b"\\": b"\\\\", b"\r": b"\\r", b"\n": b"\\n", b"\t": b"\\t"}
LONG = {text[1:]: byte for byte, text in SHORT.items()}
REPEATED_MIN = 8  # a shorter run of a byte is written as it is

HEADER = """\
# SPDX-License-Identifier: Apache-2.0
# Inputs of the fuzzer {name}, one per line; scripts/fuzz_seeds.py describes the form.
"""


def encode_byte(byte):
    if byte in SHORT:
        return SHORT[byte]
    return byte if 0x20 <= byte[0] < 0x7F else b"\\x%02x" % byte[0]


def encode(data):
    """The line of an input, without its end."""
    def run(match):
        text, more = encode_byte(match[1]), len(match[0]) - 1
        return text * (more + 1) if more + 1 < REPEATED_MIN else text + b"\\*%d;" % more

    line = re.sub(rb"(.)\1*", run, data, flags=re.DOTALL)
    if line[:1] == b"#":  # else it would be a comment
        line = b"\\x23" + line[1:]
    if line[-1:] == b" ":  # an editor may remove it
        line = line[:-1] + b"\\x20"
    return line.decode("ascii")


def decode(line):
    """The input of a line. Raises ValueError if it has an escape that does not exist."""
    data = bytearray()
    escape = re.compile(rb"\\(?:([\\rnt])|x([0-9a-f]{2})|\*([0-9]{1,9});)")
    text, at = line.encode("ascii"), 0
    while at < len(text):
        if text[at:at + 1] != b"\\":
            data.append(text[at])
            at += 1
            continue
        match = escape.match(text, at)
        if not match or (match[3] and not data):
            raise ValueError(f"unknown escape: {line[at:at + 12]}")
        if match[3]:
            data += data[-1:] * int(match[3])
        else:
            data += LONG[match[1]] if match[1] else bytes.fromhex(match[2].decode())
        at = match.end()
    return bytes(data)


def read(path):
    """The inputs of a file in their order: pairs of the comment before it (or "") and the bytes."""
    seeds, comment = [], ""
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        if line.startswith("#"):
            comment = line[1:].strip()
        else:
            if line:
                try:
                    seeds.append((comment, decode(line)))
                except ValueError as error:
                    raise ValueError(f"{path}:{number}: {error}") from error
            comment = ""
    return seeds


def write(path, seeds):
    """Writes inputs, those with a comment first, each once and sorted."""
    known = {}
    for comment, data in sorted(seeds, key=lambda seed: (not seed[0], encode(seed[1]))):
        if data:  # every fuzzer tries the empty input by itself
            known.setdefault(data, comment)
    lines = [f"# {comment}\n{encode(data)}\n" if comment else f"{encode(data)}\n"
             for data, comment in known.items()]
    path.write_text(HEADER.format(name=path.stem) + "\n" + "".join(lines), encoding="ascii")
