# SPDX-License-Identifier: MIT
"""Cleans a list of addresses: one function with one slow line. With the argument "set" that line is mended.

The program prints what the rounds of the function took.
"""
import sys
import time

ADDRESSES = [f" Street {n * 7 % 1500}, {n % 90:05d} Town {n % 40} " for n in range(2500)]


def remove_doubles(addresses, seen):
    clean = []
    for address in addresses:
        key = " ".join(address.lower().replace(",", " ").split())
        number = sum(map(ord, key)) % 1009
        if key in clean:
            continue
        clean.append(key)
        seen[number] = seen.get(number, 0) + 1
    return clean


def remove_doubles_with_set(addresses, seen):
    clean = {}
    for address in addresses:
        key = " ".join(address.lower().replace(",", " ").split())
        number = sum(map(ord, key)) % 1009
        if key in clean:
            continue
        clean[key] = None
        seen[number] = seen.get(number, 0) + 1
    return list(clean)


def main(choice="list", rounds=60):
    function = remove_doubles_with_set if choice == "set" else remove_doubles
    begin = time.process_time()
    for _ in range(int(rounds)):
        clean = function(ADDRESSES, {})
    spent = time.process_time() - begin
    print(f"{choice}: {len(clean)} of {len(ADDRESSES)} addresses; {spent / int(rounds) * 1000:.1f} ms of CPU for each of {rounds} rounds")


if __name__ == "__main__":
    main(*sys.argv[1:])
