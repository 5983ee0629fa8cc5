"""The part of eth-account that documents use, for machines that do not have the package: written from EIP-712, SEC 1
and RFC 6979, with whole numbers and nothing of the project. Slow, and not for keys that hold anything."""
import hashlib
import hmac
from collections import namedtuple

P = 2**256 - 2**32 - 977
N = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
G = (
    0x79BE667EF9DCBBAC55A06295CE870B07029BFCDB2DCE28D959F2815B16F81798,
    0x483ADA7726A3C4655DA4FBFC0E1108A8FD17B448A68554199C47D08FFB10D4B8,
)
SignedMessage = namedtuple("SignedMessage", "message_hash r s v signature")
LocalAccount = namedtuple("LocalAccount", "key address")


def keccak(data):
    rate, lanes = 136, [[0] * 5 for _ in range(5)]
    padded = bytearray(data) + bytearray(rate - len(data) % rate)
    padded[len(data)] ^= 0x01
    padded[-1] ^= 0x80
    for start in range(0, len(padded), rate):
        for i in range(rate // 8):
            lanes[i % 5][i // 5] ^= int.from_bytes(padded[start + 8 * i : start + 8 * i + 8], "little")
        permute(lanes)
    return b"".join(lanes[i % 5][i // 5].to_bytes(8, "little") for i in range(4))


def rotated(lane, by):
    return (lane << by | lane >> (64 - by)) & (2**64 - 1) if by else lane


def permute(a):
    register = 1
    for _ in range(24):
        parity = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
        for x in range(5):
            mixed = parity[(x + 4) % 5] ^ rotated(parity[(x + 1) % 5], 1)
            for y in range(5):
                a[x][y] ^= mixed
        x, y, current = 1, 0, a[1][0]
        for t in range(24):
            x, y = y, (2 * x + 3 * y) % 5
            current, a[x][y] = a[x][y], rotated(current, (t + 1) * (t + 2) // 2 % 64)
        for y in range(5):
            row = [a[x][y] for x in range(5)]
            for x in range(5):
                a[x][y] = row[x] ^ (~row[(x + 1) % 5] & row[(x + 2) % 5])
        for j in range(7):
            register = (register << 1 ^ (register >> 7) * 0x71) % 256
            if register & 2:
                a[0][0] ^= 1 << ((1 << j) - 1)


def added(p, q):
    if p is None or q is None:
        return p or q
    if p[0] == q[0] and (p[1] + q[1]) % P == 0:
        return None
    if p == q:
        slope = 3 * p[0] * p[0] * pow(2 * p[1], -1, P)
    else:
        slope = (q[1] - p[1]) * pow(q[0] - p[0], -1, P)
    x = (slope * slope - p[0] - q[0]) % P
    return x, (slope * (p[0] - x) - p[1]) % P


def multiplied(k, point=G):
    result = None
    while k:
        if k & 1:
            result = added(result, point)
        point, k = added(point, point), k >> 1
    return result


def nonces(secret, digest):
    """RFC 6979 with SHA-256."""
    mac = lambda key, data: hmac.new(key, data, hashlib.sha256).digest()
    seed = secret.to_bytes(32, "big") + (int.from_bytes(digest, "big") % N).to_bytes(32, "big")
    k, v = bytes(32), b"\x01" * 32
    for separator in (b"\x00", b"\x01"):
        k = mac(k, v + separator + seed)
        v = mac(k, v)
    while True:
        v = mac(k, v)
        yield int.from_bytes(v, "big")
        k = mac(k, v + b"\x00")
        v = mac(k, v)


def encoded(kind, value):
    if kind == "string":
        return keccak(value.encode())
    number = int(value, 16) if kind == "address" else int(value)
    return number.to_bytes(32, "big")


def struct_hash(name, fields, values):
    text = f"{name}({','.join(f['type'] + ' ' + f['name'] for f in fields)})"
    return keccak(keccak(text.encode()) + b"".join(encoded(f["type"], values[f["name"]]) for f in fields))


DOMAIN = [("name", "string"), ("version", "string"), ("chainId", "uint256"), ("verifyingContract", "address")]


class Account:
    @staticmethod
    def from_key(key):
        x, y = multiplied(int(key, 16))
        address = keccak(x.to_bytes(32, "big") + y.to_bytes(32, "big"))[12:].hex()
        check = keccak(address.encode()).hex()
        return LocalAccount(key, "0x" + "".join(c.upper() if int(h, 16) > 7 else c for c, h in zip(address, check)))

    @staticmethod
    def sign_typed_data(private_key, domain_data, message_types, message_data):
        (name, fields), = message_types.items()
        domain = [{"name": n, "type": t} for n, t in DOMAIN]
        parts = struct_hash("EIP712Domain", domain, domain_data) + struct_hash(name, fields, message_data)
        digest = keccak(b"\x19\x01" + parts)
        secret, z = int(private_key, 16), int.from_bytes(digest, "big")
        for k in nonces(secret, digest):
            if not 0 < k < N:
                continue
            x, y = multiplied(k)
            r = x % N
            s = pow(k, -1, N) * (z + r * secret) % N
            if r and s:
                break
        parity = y & 1
        if s > N // 2:
            s, parity = N - s, parity ^ 1
        v = 27 + parity
        return SignedMessage(digest, r, s, v, r.to_bytes(32, "big") + s.to_bytes(32, "big") + bytes([v]))
