# SPDX-License-Identifier: MIT
"""Cleans a list of addresses: one function with one slow line. With the argument "dict" that line is mended.

The program prints what a round of the function took.
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


def remove_doubles_with_dict(addresses, seen):
    clean = {}
    for address in addresses:
        key = " ".join(address.lower().replace(",", " ").split())
        number = sum(map(ord, key)) % 1009
        if key in clean:
            continue
        clean[key] = None
        seen[number] = seen.get(number, 0) + 1
    return list(clean)


def main(choice="list", seconds=3):
    function = remove_doubles_with_dict if choice == "dict" else remove_doubles
    rounds, begin, end = 0, time.process_time(), time.monotonic() + float(seconds)
    while time.monotonic() < end:
        clean = function(ADDRESSES, {})
        rounds += 1
    spent = time.process_time() - begin
    print(f"{choice}: {len(clean)} addresses, {spent / rounds * 1000:.1f} ms of CPU for each round")


if __name__ == "__main__":
    main(*sys.argv[1:])
