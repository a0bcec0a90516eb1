# SPDX-License-Identifier: MIT
"""Invoices of a month, made by four worker processes.

The customers are shared out by the first letter of their names, so that all orders of one customer are in one worker. One
worker has the customer who orders a hundred times as much as the others, and the three others wait for that worker.
"""
import multiprocessing
import os
import sys
import time

CUSTOMERS = {"Ames": 60, "Borg": 50, "Chan": 70, "Diaz": 900, "Egan": 40, "Fuchs": 50, "Gray": 60, "Huber": 50}
WORKERS = 4


def orders_of(customer, number):
    return [(f"{customer} {n}", n * 37 % 1000, 1 + n % 5) for n in range(number)]


def price_of(order):
    _, cents, pieces = order
    return sum(cents * pieces * percent // 100 for percent in range(60, 100))


def make_invoice(customer, number):
    lines = [f"{order[0]:<20}{price_of(order):>10}" for order in orders_of(customer, number)]
    return "\n".join(lines)


def run_worker(customers, jobs, results):
    while (rounds := jobs.get()):
        for customer in customers:
            for _ in range(rounds):
                invoice = make_invoice(customer, CUSTOMERS[customer])
        results.put(len(invoice))
    name = multiprocessing.current_process().name
    print(f"{name}, pid {os.getpid()}: {' and '.join(customers)}, {time.process_time():.2f} s of CPU", flush=True)


def main(seconds=4, rounds=10):
    names, workers = sorted(CUSTOMERS), []
    results = multiprocessing.Queue()
    for n in range(WORKERS):
        jobs = multiprocessing.Queue()
        worker = multiprocessing.Process(target=run_worker, args=(names[n::WORKERS], jobs, results), name=f"worker-{n + 1}")
        worker.start()
        workers.append((worker, jobs))
    end = time.monotonic() + seconds
    while time.monotonic() < end:  # the next batch begins when all workers have done theirs
        for _, jobs in workers:
            jobs.put(rounds)
        for _ in workers:
            results.get()
    for worker, jobs in workers:
        jobs.put(0)
        worker.join()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
