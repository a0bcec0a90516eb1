# SPDX-License-Identifier: MIT
"""A program worth profiling: a little of everything, for five seconds. Arguments: other seconds, and the most rounds.

In the profile of the main thread fibonacci() takes most time, then store_and_load_orders() with the JSON work below
it, then count_words(), then primes(). The other thread, price-updater, mostly waits.
"""
import json
import sys
import threading
import time

TEXT = "the quick brown fox jumps over the lazy dog while the slow grey cat sleeps on the warm red mat " * 400
ORDERS = [{"id": n, "customer": f"customer {n % 17}", "prices": [n * 0.5, n * 1.5]} for n in range(1000)]


def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def store_and_load_orders():
    stored = json.dumps(ORDERS)
    return json.loads(stored)


def count_words(text):
    counts = {}
    for word in text.split():
        word = word.strip(".,").capitalize()
        counts[word] = counts.get(word, 0) + 1
    return counts


def primes(limit):
    for candidate in range(2, limit):
        if all(candidate % divisor for divisor in range(2, int(candidate**0.5) + 1)):
            yield candidate


def wait_for_orders():
    time.sleep(0.0005)


def wait_for_prices(stopped):
    return not stopped.wait(0.02)


def update_prices(stopped, prices):
    while wait_for_prices(stopped):
        prices[:] = [price * 1.0001 for price in prices]


def main(seconds=5.0, most_rounds=float("inf")):
    stopped, prices = threading.Event(), [float(n) for n in range(5000)]
    updater = threading.Thread(target=update_prices, args=(stopped, prices), name="price-updater", daemon=True)
    updater.start()

    rounds, end = 0, time.monotonic() + seconds
    while time.monotonic() < end and rounds < most_rounds:
        number = fibonacci(23)
        orders = store_and_load_orders()
        words = count_words(TEXT)
        last_prime = max(primes(1000))
        wait_for_orders()
        rounds += 1

    stopped.set()
    updater.join()
    print(f"{rounds} rounds: fibonacci {number}, {len(orders)} orders, {len(words)} words, primes up to {last_prime}")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
