/* SPDX-License-Identifier: MIT */
/* asyncio in a small CPython: tasks in the lists of threads and of the interpreter, coroutines that await each other,
 * and who waits for a task. In versions before 3.14: tasks in sets, and callbacks that wake those who wait. Objects are
 * built by hand; a test may change each of their words. */
#ifndef PYREEL_TESTS_FAKES_FAKE_ASYNCIO_H
#define PYREEL_TESTS_FAKES_FAKE_ASYNCIO_H

#include "formats/model/tables.h"
#include "record/asyncio/asyncio.h"
#include "tests/fakes/fake_python.h"

struct fake_asyncio {
    struct fake_python *p;
    struct thread_list thread_list;
    struct synthetic_frames synthetic;
    struct emitter emitter;
    struct tables tables;   /* what was emitted */
    struct asyncio asyncio; /* open, and asyncio has been found */
    uint64_t time_ns;       /* of the last tick */

    uint64_t task_type, future_type, int_type, str_type, set_type, coroutine_type, wrapper_type;
    uint64_t future; /* what a coroutine awaits that awaits no other coroutine */
    uint64_t over;   /* a task that waits for nothing any more */
    uint64_t m;      /* a function, lines 1 to 9, that runs the event loop */

    /* ---- before 3.14 ---- */
    uint64_t loop, wakeup; /* the event loop of thread 0; a PyMethodDef of tasks */
    uint64_t builtin_type, function_type, method_type, partial_type, cell_type, list_type, tuple_type, reference_type;
    char text[65536];
};

/* Tells a story of each version that publishes where its tasks are; `which` of them are read. */
void fake_asyncio_each_version(enum async which, void (*story)(struct fake_asyncio *a));
/* The same of each version before. */
void fake_asyncio_each_older(enum async which, void (*story)(struct fake_asyncio *a));

/* cmocka tests that run a story so: EACH_ASYNCIO(ASYNC_ALL, finds_a_task, find_a_task); */
#define EACH_ASYNCIO(which, sentence, story)                                                                           \
    static void sentence(void **state)                                                                                 \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        fake_asyncio_each_version(which, story);                                                                       \
    }                                                                                                                  \
    struct fake_asyncio /* takes the semicolon */

#define EACH_OLDER(which, sentence, story)                                                                             \
    static void sentence(void **state)                                                                                 \
    {                                                                                                                  \
        (void)state;                                                                                                   \
        fake_asyncio_each_older(which, story);                                                                         \
    }                                                                                                                  \
    struct fake_asyncio /* takes the semicolon */

/* ---- objects ---- */

/* A type. `heap`: a class of the program. */
uint64_t fake_type(struct fake_asyncio *a, const char *name, uint32_t basic_size, bool heap);
/* An object of a type, with room for so many bytes. */
uint64_t fake_object(struct fake_asyncio *a, uint64_t type, size_t size);
/* A str, and an int. */
uint64_t fake_str(struct fake_asyncio *a, const char *text);
uint64_t fake_int(struct fake_asyncio *a, uint64_t number);

/* ---- coroutines ---- */

/* The code object of an `async def` function: see fake_code(). */
uint64_t fake_async_code(struct fake_asyncio *a, const char *name, uint32_t first_line, uint32_t lines);
/* A coroutine of the function, which is suspended at this line and awaits an object; 0: the future. */
uint64_t fake_coroutine(struct fake_asyncio *a, uint64_t code, int line, uint64_t awaited);
/* The coroutine is suspended so from now on. */
void fake_suspend(struct fake_asyncio *a, uint64_t coroutine, uint64_t code, int line, uint64_t awaited);
/* What an asynchronous generator's __anext__() gives: awaiting it is awaiting the generator. */
uint64_t fake_wrapper(struct fake_asyncio *a, uint64_t wrapped);
/* The byte that tells what a coroutine does. */
void fake_set_state(struct fake_asyncio *a, uint64_t coroutine, int state);

/* ---- tasks ---- */

/* A task in no list, that nobody waits for. The name is an object; see fake_task(), whose name is a text. */
uint64_t fake_task_called(struct fake_asyncio *a, uint64_t name, uint64_t coroutine);
uint64_t fake_task(struct fake_asyncio *a, const char *name, uint64_t coroutine);
/* One task waits for the task, or several do. */
void fake_awaited_by(struct fake_asyncio *a, uint64_t task, uint64_t waiter);
void fake_awaited_by_all(struct fake_asyncio *a, uint64_t task, const uint64_t *waiters, size_t count);

/* Where the links of a task are, and the heads of the lists: of a thread, and of the interpreter, which has the tasks
 * of threads that have ended. */
uint64_t fake_task_node(const struct fake_asyncio *a, uint64_t task);
uint64_t fake_thread_tasks(const struct fake_asyncio *a, size_t thread);
uint64_t fake_interpreter_tasks(const struct fake_asyncio *a);
/* The list has these tasks from now on. */
void fake_list(struct fake_asyncio *a, uint64_t head, const uint64_t *tasks, size_t count);

#define LIST(a, head, ...)                                                                                             \
    fake_list(a, head, (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* ---- before 3.14 ---- */

/* An object whose members behind its head are these words. */
uint64_t fake_words(struct fake_asyncio *a, uint64_t type, const uint64_t *words, size_t count);
#define MEMBERS(a, type, ...)                                                                                          \
    fake_words(a, type, (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
/* Where the n-th of these words is. */
uint64_t fake_member(const struct fake_asyncio *a, uint64_t object, size_t n);
/* What wakes a task when something is done; `self`: the task. */
uint64_t fake_waker(struct fake_asyncio *a, uint64_t self);
/* A function of this name and file, whose closure has these values. */
uint64_t fake_function(struct fake_asyncio *a, const char *name, const char *file, const uint64_t *values,
                       size_t count);
uint64_t fake_tuple(struct fake_asyncio *a, const uint64_t *items, size_t count);
/* A future that calls this when it is done. */
uint64_t fake_future(struct fake_asyncio *a, uint64_t callback);
/* The future or task calls these when it is done: the first one, then those of a list. */
void fake_calls(struct fake_asyncio *a, uint64_t future, const uint64_t *callbacks, size_t count);
#define CALLS(a, future, ...)                                                                                          \
    fake_calls(a, future, (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
/* The set of all tasks has weak references to these. Returns the address of the first of its slots; each has two words.
 */
uint64_t fake_all_tasks(struct fake_asyncio *a, const uint64_t *tasks, size_t count);
#define ALL_TASKS(a, ...)                                                                                              \
    fake_all_tasks(a, (uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))

/* ---- a thread that runs a task ---- */

/* The thread's stack is the event loop, at m:2, which drives these coroutines from now on, the task's own first. Each
 * is of this function and at this line. The thread runs the task; 0: no task. */
struct fake_driven {
    uint64_t coroutine, code;
    int line;
};
void fake_drive(struct fake_asyncio *a, size_t thread, uint64_t task, const struct fake_driven *driven, size_t count);
/* The thread runs this task as far as its state tells. */
void fake_current_task(struct fake_asyncio *a, size_t thread, uint64_t task);
/* The thread is in the event loop, and runs no task. Coroutines that it drove are suspended: see fake_suspend(). */
void fake_wait(struct fake_asyncio *a, size_t thread);

#define DRIVE(a, thread, task, ...)                                                                                    \
    fake_drive(a, thread, task, (struct fake_driven[]){ __VA_ARGS__ },                                                 \
               sizeof((struct fake_driven[]){ __VA_ARGS__ }) / sizeof(struct fake_driven))

/* ---- what the recorder sees ---- */

/* A tick, which takes a bounded number of calls however much the memory lies. */
enum thread_list_state fake_tick(struct fake_asyncio *a);
/* The stack of a task in that tick, "<task A> f:20 g:31"; "failed: " and why; "none" when it is in no list. Valid
 * until the next call. */
const char *fake_task_stack(struct fake_asyncio *a, uint64_t task);
/* The stack of a thread in that tick, with the task that it runs; "failed" when that could not be told. */
const char *fake_thread_stack(struct fake_asyncio *a, size_t thread);

/* A tick, and then this is the stack. */
void fake_assert_task(struct fake_asyncio *a, uint64_t task, const char *wanted);
void fake_assert_thread(struct fake_asyncio *a, size_t thread, const char *wanted);

#endif
