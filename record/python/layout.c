/* SPDX-License-Identifier: MIT */
#include "record/python/layout.h"

#include "formats/base/alloc.h"
#include "formats/cpython/opcodes.h"
#include "formats/model/event.h"

#include <inttypes.h>
#include <string.h>

#define FIRST_MINOR           11
#define FIRST_PUBLISHED_MINOR 13

/* The upper limits of offsets. Code that reads a structure with one call relies on them for the size of its buffer. */
#define OFFSET_LIMIT (1u << 20) /* in the runtime and the interpreters */
#define THREAD_LIMIT (LAYOUT_THREAD_MAX - 16)
#define FRAME_LIMIT  (LAYOUT_FRAME_MAX - 8)
#define CODE_LIMIT   (LAYOUT_CODE_MAX - 8)
#define OBJECT_LIMIT (LAYOUT_OBJECT_MAX - 8)

/* A number for each version: a row that lacks one does not compile. */
#define VERSIONS 6
/* clang-format off */
#define EACH(v311, v312, v313, v314, v315, v316) { v311, v312, v313, v314, v315, v316 }
/* clang-format on */

/* Word W(n) of the published table. Its order is that of struct _Py_DebugOffsets in each version's
 * Include/internal/pycore_debug_offsets.h (3.13: pycore_runtime.h), counted in 8-byte words with the cookie as 0. */
#define W(n)       (-(n))
#define AT(member) offsetof(struct layout, member)

static const struct row {
    size_t member;
    int from[VERSIONS]; /* an offset, or a word of the published table */
    uint32_t limit;
    uint32_t align;
} rows[] = {
    { AT(runtime_interpreters_head), EACH(40, 40, W(5), W(5), W(5), W(5)), OFFSET_LIMIT, 8 },
    { AT(interpreter_id), EACH(48, 8, W(7), W(7), W(7), W(7)), OFFSET_LIMIT, 8 },
    { AT(interpreter_next), EACH(0, 0, W(8), W(8), W(8), W(8)), OFFSET_LIMIT, 8 },
    { AT(interpreter_threads_head), EACH(16, 72, W(9), W(9), W(9), W(9)), OFFSET_LIMIT, 8 },
    { AT(interpreter_modules), EACH(888, 944, W(11), W(12), W(12), W(12)), OFFSET_LIMIT, 8 },
    { AT(interpreter_code_generation), EACH(0, 0, 0, W(20), W(20), W(20)), OFFSET_LIMIT, 8 },
    { AT(interpreter_copies_generation), EACH(0, 0, 0, W(21), W(21), W(21)), OFFSET_LIMIT, 4 },
    { AT(interpreter_gil), EACH(0, 384, W(14), W(15), W(15), W(15)), OFFSET_LIMIT, 8 },
    { AT(interpreter_own_gil), EACH(0, 1048, W(18), W(19), W(19), W(19)), OFFSET_LIMIT, 8 },
    { AT(interpreter_gc), EACH(648, 112, W(10), W(11), W(11), W(11)), OFFSET_LIMIT, 8 },
    { AT(gc_collecting), EACH(200, 200, W(72), W(82), W(95), W(95)), OBJECT_LIMIT * 8, 4 },
    { AT(gc_frame), EACH(0, 0, 0, 0, W(96), W(96)), OBJECT_LIMIT * 8, 8 },
    { AT(runtime_gil), EACH(368, 0, 0, 0, 0, 0), OFFSET_LIMIT, 8 },

    { AT(thread_prev), EACH(0, 0, W(20), W(23), W(23), W(23)), THREAD_LIMIT, 8 },
    { AT(thread_next), EACH(8, 8, W(21), W(24), W(24), W(24)), THREAD_LIMIT, 8 },
    { AT(thread_interpreter), EACH(16, 16, W(22), W(25), W(25), W(25)), THREAD_LIMIT, 8 },
    { AT(thread_current_frame), EACH(0, 0, W(23), W(26), W(26), W(26)), THREAD_LIMIT, 8 },
    { AT(thread_cframe), EACH(56, 56, 0, 0, 0, 0), THREAD_LIMIT, 8 },
    { AT(cframe_current_frame), EACH(8, 0, 0, 0, 0, 0), THREAD_LIMIT, 8 },
    { AT(thread_base_frame), EACH(0, 0, 0, 0, W(27), W(27)), THREAD_LIMIT, 8 },
    { AT(thread_native_id), EACH(160, 144, W(25), W(28), W(31), W(31)), THREAD_LIMIT, 8 },
    { AT(thread_chunk), EACH(296, 232, W(26), W(29), W(32), W(32)), THREAD_LIMIT, 8 },
    { AT(thread_gil_wait), EACH(0, 0, 0, 0, W(35), W(35)), THREAD_LIMIT, 4 },
    { AT(thread_attachment), EACH(0, 0, 40, 44, 48, 48), THREAD_LIMIT, 4 },
    { AT(thread_handler), EACH(320, 256, 256, 256, W(37), W(37)), THREAD_LIMIT, 8 },

    { AT(frame_previous), EACH(48, 8, W(29), W(32), W(40), W(40)), FRAME_LIMIT, 8 },
    { AT(frame_executable), EACH(32, 0, W(30), W(33), W(41), W(41)), FRAME_LIMIT, 8 },
    { AT(frame_instruction), EACH(56, 56, W(31), W(34), W(42), W(42)), FRAME_LIMIT, 8 },
    { AT(frame_owner), EACH(69, 70, W(33), W(36), W(44), W(44)), FRAME_LIMIT, 1 },
    { AT(frame_stack), EACH(64, 64, 64, W(37), W(45), W(45)), FRAME_LIMIT, 8 },
    { AT(frame_copy), EACH(0, 0, 0, W(38), W(46), W(46)), FRAME_LIMIT, 4 },
    { AT(frame_locals), EACH(72, 72, W(32), W(35), W(43), W(43)), FRAME_LIMIT, 8 },
    { AT(frame_entry), EACH(68, 0, 0, 0, 0, 0), FRAME_LIMIT, 1 },

    { AT(code_name), EACH(128, 128, W(37), W(42), W(50), W(50)), CODE_LIMIT, 8 },
    { AT(code_file), EACH(112, 112, W(35), W(40), W(48), W(48)), CODE_LIMIT, 8 },
    { AT(code_line_table), EACH(136, 136, W(38), W(43), W(51), W(51)), CODE_LIMIT, 8 },
    { AT(code_first_line), EACH(72, 68, W(39), W(44), W(52), W(52)), CODE_LIMIT, 4 },
    { AT(code_instructions), EACH(184, 192, W(43), W(48), W(56), W(56)), CODE_LIMIT, 8 },
    { AT(code_copies), EACH(0, 0, 0, W(49), W(57), W(57)), CODE_LIMIT, 8 },

    { AT(object_type), EACH(8, 8, W(45), W(51), W(59), W(59)), OBJECT_LIMIT, 8 },
    { AT(type_name), EACH(24, 24, W(47), W(53), W(61), W(61)), OBJECT_LIMIT, 8 },
    { AT(string_length), EACH(16, 16, W(69), W(79), W(91), W(91)), OBJECT_LIMIT, 8 },
    { AT(string_state), EACH(32, 32, W(68), W(78), W(90), W(90)), OBJECT_LIMIT, 4 },
    { AT(string_ascii), EACH(48, 40, W(70), W(80), W(92), W(92)), OBJECT_LIMIT, 8 },
    { AT(bytes_size), EACH(16, 16, W(65), W(75), W(87), W(87)), OBJECT_LIMIT, 8 },
    { AT(bytes_data), EACH(32, 32, W(66), W(76), W(88), W(88)), OBJECT_LIMIT, 1 },
    { AT(generator_frame), EACH(80, 72, 72, 72, 72, 72), OBJECT_LIMIT, 8 },
    { AT(type_flags), EACH(168, 168, W(49), W(55), W(63), W(63)), OBJECT_LIMIT * 8, 8 },

    { AT(generator_state), EACH(0, 0, 0, W(86), W(102), W(102)), OBJECT_LIMIT, 1 },
    { AT(set_used), EACH(0, 0, 0, W(63), W(75), W(75)), OBJECT_LIMIT, 8 },
    { AT(set_table), EACH(0, 0, 0, W(64), W(76), W(76)), OBJECT_LIMIT, 8 },
    { AT(set_mask), EACH(0, 0, 0, W(65), W(77), W(77)), OBJECT_LIMIT, 8 },
    { AT(int_tag), EACH(0, 0, 0, W(72), W(84), W(84)), OBJECT_LIMIT, 8 },
    { AT(int_digits), EACH(0, 0, 0, W(73), W(85), W(85)), OBJECT_LIMIT, 4 },
    /* _PyThreadStateImpl.asyncio_running_loop, which is the first member behind PyThreadState */
    { AT(thread_loop), EACH(0, 0, W(19), 0, 0, 0), THREAD_LIMIT, 8 },
};

/* Facts that no version publishes: numbers, and what a version does (1) or does not (0). */
struct fact {
    size_t member;
    int32_t is[VERSIONS];
};

static const struct fact facts[] = {
    /* enum _frameowner, pycore_frame.h and pycore_interpframe_structs.h: thread 0, generator 1, frame object 2; what
     * comes after has had several names, and all of them are entries from C without code. */
    { AT(owner_generator), EACH(1, 1, 1, 1, 1, 1) },
    { AT(owner_frame_object), EACH(2, 2, 2, 2, 2, 2) },
    { AT(owner_shim), EACH(3, 3, 3, 3, 3, 3) },
    { AT(root_is_shim), EACH(0, 1, 1, 1, 1, 1) },
    /* _PyInterpreterFrame.frame_obj */
    { AT(frame_object), EACH(40, 48, 48, 48, 48, 48) },
    /* _PyCFrame: a thread points to the one of its newest C call before the current frame is in it. */
    { AT(notes_current_late), EACH(1, 1, 0, 0, 0, 0) },
    /* _PyInterpreterFrame.f_executable is a tagged reference (_PyStackRef): these bits are the tag. */
    { AT(executable_tags), EACH(0, 0, 0, 3, 3, 3) },

    /* PyCodeObject.co_version is so far behind co_firstlineno: behind five ints. */
    { AT(code_version), EACH(0, 24, 24, 24, 24, 24) },
    /* PyCompactUnicodeObject: so many bytes between the head and the characters of a string that is not ASCII. */
    { AT(string_compact), EACH(24, 16, 16, 16, 16, 16) },
    { AT(string_kind), EACH(2, 2, 2, 2, 2, 2) },
    /* PyTupleObject: Py_ssize_t ob_size; since 3.14 Py_hash_t ob_hash; PyObject *ob_item[1]. */
    { AT(tuple_items), EACH(8, 8, 8, 16, 16, 16) },
    /* struct _stack_chunk { previous; size_t size, top; PyObject *data[1]; } */
    { AT(chunk_previous), EACH(0, 0, 0, 0, 0, 0) },
    { AT(chunk_size), EACH(8, 8, 8, 8, 8, 8) },
    { AT(chunk_top), EACH(16, 16, 16, 16, 16, 16) },
    { AT(chunk_data), EACH(24, 24, 24, 24, 24, 24) },

    /* _PyObject_DictPointer(), _PyObject_DictOrValuesPointer(), _PyObject_ManagedDictPointer() of pycore_object.h: in
     * front of the object's head for the garbage collector. struct _dictvalues of pycore_dict.h. */
    { AT(object_dict_before), EACH(24, 24, 24, 24, 24, 24) },
    { AT(dict_word_is_tagged), EACH(0, 1, 0, 0, 0, 0) },
    { AT(object_values_before), EACH(32, 0, 0, 0, 0, 0) },
    { AT(values_first), EACH(0, 0, 8, 8, 8, 8) },
    /* PyHeapTypeObject.ht_cached_keys; Py_TPFLAGS_MANAGED_DICT, Py_TPFLAGS_INLINE_VALUES */
    { AT(type_cached_keys), EACH(872, 880, 880, 880, 888, 896) },
    { AT(type_managed_dict), EACH(16, 16, 16, 16, 16, 16) },
    { AT(type_inline_values), EACH(0, 0, 4, 4, 4, 4) },
    /* PyLongObject: ob_size; since 3.12 lv_tag */
    { AT(int_count_bit), EACH(0, 3, 3, 3, 3, 3) },

    { AT(publishes_tasks), EACH(0, 0, 0, 1, 1, 1) },
    /* enum _framestate, pycore_frame.h; and _PyGen_yf() in Objects/genobject.c: what a generator waits for is the value
     * on top of its stack, since 3.15 the one before that. Before 3.13 a state tells only that it is suspended. */
    { AT(state_waits_first), EACH(-1, -1, -1, -1, 2, 2) },
    { AT(state_waits_last), EACH(-1, -1, -1, -1, 3, 3) },
    { AT(state_runs), EACH(0, 0, 0, 0, 4, 4) },
    { AT(state_ended), EACH(1, 1, 1, 1, 5, 5) },
    { AT(awaited_words), EACH(1, 1, 1, 1, 2, 2) },
    { AT(waits_by_argument), EACH(1, 1, 0, 0, 0, 0) },
    { AT(stack_is_index), EACH(1, 1, 1, 0, 0, 0) },

    /* FutureObj and TaskObj of Modules/_asynciomodule.c; sizeof() of both; tp_weaklistoffset of Task: since 3.13
     * MANAGED_WEAKREF_OFFSET. */
    { AT(future_loop), EACH(16, 16, 16, 0, 0, 0) },
    { AT(future_callback), EACH(24, 24, 24, 0, 0, 0) },
    { AT(future_callbacks), EACH(40, 40, 40, 0, 0, 0) },
    { AT(future_state), EACH(88, 88, 96, 0, 0, 0) },
    { AT(future_size), EACH(128, 128, 104, 0, 0, 0) },
    { AT(task_coroutine), EACH(136, 136, 120, 0, 0, 0) },
    { AT(task_name), EACH(144, 144, 128, 0, 0, 0) },
    { AT(task_size), EACH(176, 176, 144, 0, 0, 0) },
    { AT(task_weak_references), EACH(112, 112, -32, 0, 0, 0) },
    /* set_running_loop(): the loop, or a PyRunningLoopHolder with it, is in PyThreadState.dict, so far before
     * native_thread_id: behind it are gilstate_counter, async_exc and thread_id. */
    { AT(thread_dict), EACH(32, 32, 0, 0, 0, 0) },
    { AT(loop_is_held), EACH(1, 0, 0, 0, 0, 0) },
};

/* Facts in which a free-threaded build differs from other builds of its version. Source: offsetof() and
 * _Py_DebugOffsets_INIT in each version's headers, compiled with Py_GIL_DISABLED. */
static const struct fact free_threaded_facts[] = {
    /* PyASCIIObject.state: interned is a byte of its own since 3.14. */
    { AT(string_kind), EACH(0, 0, 2, 8, 8, 8) },
    /* The lock exists, but no thread takes it unless the user asks for the lock; each thread's attachment shows who may
       run. */
    { AT(interpreter_gil), EACH(0, 0, 0, 0, 0, 0) },
    { AT(interpreter_own_gil), EACH(0, 0, 0, 0, 0, 0) },
    /* No head for the garbage collector; a larger head of objects, and so of types. */
    { AT(object_dict_before), EACH(0, 0, 8, 8, 8, 8) },
    { AT(type_cached_keys), EACH(0, 0, 896, 896, 904, 912) },
    /* 3.13t: the sets of tasks change while they are read, and their objects were not compared. */
    { AT(task_size), EACH(0, 0, 0, 0, 0, 0) },
};
static const struct fact locked_facts[] = {
    { AT(thread_attachment), EACH(0, 0, 0, 0, 0, 0) },
    /* struct _gc_runtime_state: generations, until 3.13 generation0, permanent_generation, generation_stats (since 3.15
     * a pointer), collecting. Until 3.13 the distance of the array depends on the build, so the address is used. */
    { AT(gc_generations_before), EACH(0, 0, 0, 168, 104, 104) },
    { AT(gc_generations_address_before), EACH(104, 104, 104, 0, 0, 0) },
};

/* 3.16 is known as of alpha 0. A later release may have another table, which puts other words here, or other
 * structures. The facts above lean on structures of which the table publishes the size, or a member behind. */
#define EARLY_MINOR   16
#define EARLY_VERSION 0x031000a0u
#define EARLY_AS_OF   "3.16 as of alpha 0"
static const struct early_word {
    uint32_t word;
    uint32_t is[2]; /* in a build with the lock; in a free-threaded one */
} early_words[] = {
    /* PyThreadState: native_thread_id, gil_requested, current_exception. Not its size: --enable-pystats adds to it. */
    { 31, { 184, 184 } },
    { 35, { 40, 40 } },
    { 36, { 136, 136 } },
    { 39, { 88, 88 } }, /* _PyInterpreterFrame */
    /* PyCodeObject; co_linetable, co_firstlineno */
    { 47, { 208, 240 } },
    { 51, { 136, 152 } },
    { 52, { 68, 84 } },
    { 58, { 16, 32 } },   /* PyObject */
    { 60, { 432, 448 } }, /* PyTypeObject */
    { 66, { 952, 976 } }, /* PyHeapTypeObject */
    { 68, { 40, 56 } },   /* PyTupleObject */
    { 78, { 48, 64 } },   /* PyDictObject */
    { 83, { 32, 48 } },   /* PyLongObject */
    { 89, { 64, 80 } },   /* PyUnicodeObject */
    /* struct _gc_runtime_state; generation_stats, which is behind the generations */
    { 94, { 176, 176 } },
    { 98, { 104, 104 } },
    { 99, { 160, 176 } },  /* PyGenObject */
    { 110, { 512, 512 } }, /* the last word: the length of a path */
};

/* The first release of each version whose collector has three generations. Earlier ones of 3.13 to 3.15 collect in
 * increments. */
static const uint32_t generations_since[VERSIONS] = EACH(0, 0, 0x030d00c3, 0x030e05f0, 0x030f00c1, 0x031000a0);

static void set_member(struct layout *layout, size_t member, uint32_t value)
{
    memcpy((char *)layout + member, &value, sizeof(value));
}

static void load_facts(struct layout *layout, const struct fact *from, size_t count, unsigned column)
{
    for (const struct fact *fact = from; fact < from + count; fact++)
        set_member(layout, fact->member, (uint32_t)fact->is[column]);
}

static bool published_word(uint64_t *value, size_t word, const void *published, size_t size, struct fault *why)
{
    const size_t at = word * sizeof(*value);
    if (at + sizeof(*value) > size)
        return fault(why, "its table of offsets (_Py_DebugOffsets) is cut off");
    memcpy(value, (const char *)published + at, sizeof(*value));
    return true;
}

static bool load_row(struct layout *layout, const struct row *row, int from, const void *published, size_t size,
                     struct fault *why)
{
    uint64_t offset = from > 0 ? (uint64_t)from : 0;
    if (from < 0 && !published_word(&offset, (size_t)-from, published, size, why))
        return false;
    if (offset >= row->limit || offset % row->align != 0)
        return fault(why, "its table of offsets (_Py_DebugOffsets) is damaged (word %d says %" PRIu64 ")", -from,
                     offset);
    set_member(layout, row->member, (uint32_t)offset);
    return true;
}

static uint32_t layout_largest(const uint32_t *values, size_t count)
{
    uint32_t most = 0;
    for (size_t i = 0; i < count; i++)
        most = values[i] > most ? values[i] : most;
    return most;
}

static uint32_t smallest(const uint32_t *values, size_t count)
{
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

/* Completes what CPython 3.14 and later publish for asyncio's tasks, in the versions before. */
static void complete_tasks(struct layout *l)
{
    const uint32_t head = l->object_type + 8;
    if (l->publishes_tasks)
        return;
    l->generator_state = l->generator_frame - 5; /* int8_t gi_frame_state, three bytes that align, gi_iframe */
    /* PySetObject: fill, used, mask, table. PyLongObject: ob_size or lv_tag, ob_digit. */
    l->set_used = head + 8;
    l->set_mask = head + 16;
    l->set_table = head + 24;
    l->int_tag = head;
    l->int_digits = head + 8;
    l->thread_dict = l->thread_dict ? l->thread_native_id - l->thread_dict : 0;
}

/* Completes the layout with what follows from the offsets and facts in the same way in all versions. */
static void layout_complete(struct layout *l)
{
    const uint32_t thread[] = { l->thread_prev,          l->thread_next,     l->thread_interpreter, l->thread_native_id,
                                l->thread_current_frame, l->thread_cframe,   l->thread_base_frame,  l->thread_chunk + 8,
                                l->thread_handler + 8,   l->thread_gil_wait, l->thread_attachment };
    const uint32_t frame[] = { l->frame_previous, l->frame_executable, l->frame_instruction, l->frame_owner,
                               l->frame_stack,    l->frame_copy,       l->frame_object };
    /* In front of thread_id, which the native id follows: current_exception, exc_info, dict and two more words. */
    l->thread_exception = l->thread_native_id - 48;
    l->thread_exc_info = l->thread_native_id - 40;
    l->thread_id = l->thread_native_id - 8; /* PyThreadState: thread_id, native_thread_id, in all versions */
    l->thread_size = layout_largest(thread, countof(thread)) + 8;
    l->frame_size = (layout_largest(frame, countof(frame)) + 8) & ~7u;
    /* The type is the last word of an object's head. PyCodeObject is a PyVarObject that counts its code units. */
    l->code_units = l->object_type + 8;
    /* Three pointers, co_consts, co_names and co_exceptiontable, then ints: co_flags ... co_stacksize, co_firstlineno,
     * co_nlocalsplus. */
    l->code_flags = l->code_units + 32;
    l->code_stack = l->code_first_line - 4;
    l->code_locals = l->code_first_line + 4;
    /* int, before the pointer, or two where there are copies, in front of them */
    l->code_first_traceable = l->code_instructions - (l->code_copies ? 24 : 16);
    l->generator_frame += l->object_type - 8; /* the table counts with the small head */
    const uint32_t code[] = { l->code_name,   l->code_file,  l->code_line_table, l->code_first_line,
                              l->object_type, l->code_units, l->code_locals,     l->code_first_traceable,
                              l->code_copies, l->code_flags };
    l->code_size = layout_largest(code, countof(code)) + 8;

    const bool generations = l->gc_generations_before || l->gc_generations_address_before;
    const uint32_t last = l->interpreter_threads_head; /* replaces an offset of a member that is not kept */
    const uint32_t starts[] = { l->interpreter_id,
                                l->interpreter_next,
                                l->interpreter_threads_head,
                                l->interpreter_code_generation ? l->interpreter_code_generation : last,
                                l->interpreter_own_gil ? l->interpreter_own_gil : last,
                                l->interpreter_gc + (generations ? 0 : l->gc_collecting) };
    const uint32_t ends[] = { l->interpreter_id + 8,
                              l->interpreter_next + 8,
                              l->interpreter_threads_head + 8,
                              l->interpreter_code_generation + 8,
                              l->interpreter_own_gil ? l->interpreter_own_gil + LAYOUT_GIL_SIZE : 0,
                              l->interpreter_gc + l->gc_collecting + 8,
                              l->gc_frame ? l->interpreter_gc + l->gc_frame + 8 : 0 };
    l->interpreter_start = smallest(starts, countof(starts));
    l->interpreter_size = layout_largest(ends, countof(ends)) - l->interpreter_start;

    l->executable_mask = ~(uint64_t)l->executable_tags;

    /* From co_firstlineno to co_linetable all of it stays the same: sizes, since 3.12 co_version, names, file. */
    l->code_version += l->code_version ? l->code_first_line : 0;
    l->code_identity = l->code_first_line;
    l->code_identity_size = l->code_line_table + 8 - l->code_first_line;

    l->string_hash = l->string_length + 8; /* PyASCIIObject: length, hash, state */
    l->string_compact += l->string_ascii;
    l->type_basic_size = l->type_name + 8;
    complete_tasks(l);
}

/* Forgets the generations if the collector of the version has none, or the table says that there is no room for them.
 */
static void check_generations(struct layout *l, unsigned column)
{
    if (l->version >= generations_since[column] && l->gc_collecting >= l->gc_generations_before &&
        l->gc_collecting >= l->gc_generations_address_before)
        return;
    l->gc_generations_before = l->gc_generations_address_before = 0;
}

/* Whether a release of the version that is known early is as it was then. */
static bool check_early(const struct layout *l, const void *published, size_t size, struct fault *why)
{
    char text[32];
    for (const struct early_word *early = early_words; early < early_words + countof(early_words); early++) {
        const uint32_t known = early->is[l->free_threaded];
        uint64_t says = 0;
        if (!published_word(&says, early->word, published, size, why))
            return false;
        if (says != known)
            return fault(why,
                         "it runs CPython %s, and this version of pyreel reads CPython " EARLY_AS_OF
                         ", whose table of offsets (_Py_DebugOffsets) is another (word %u says %" PRIu64 ", not %u)",
                         event_python_version_text(text, l->version), early->word, says, known);
    }
    return true;
}

static bool is_free_threaded(const void *published, size_t size)
{
    uint64_t words[LAYOUT_PUBLISHED_HEAD / 8] = { 0 };
    memcpy(words, published, size < sizeof(words) ? size : sizeof(words));
    return words[2] != 0;
}

bool layout_published(const void *head, uint32_t *version)
{
    uint64_t words[LAYOUT_PUBLISHED_HEAD / 8];
    memcpy(words, head, sizeof(words));
    *version = (uint32_t)words[1];
    return memcmp(head, "xdebugpy", 8) == 0;
}

/* The numbers of instructions change until a version is final, and nothing that is published tells. Without names, each
 * instruction counts as unknown. */
static const struct opcode_name *opcode_names_of(uint32_t version, unsigned minor)
{
    static const struct opcode_name none[256];
    return minor == EARLY_MINOR && version != EARLY_VERSION ? none : opcodes_names_of(minor);
}

bool layout_load(struct layout *layout, uint32_t version, const void *published, size_t size, struct fault *why)
{
    *layout = (struct layout){ .version = version };
    const unsigned major = version >> 24;
    const unsigned minor = version >> 16 & 0xFF;
    char text[32];
    if (major != 3 || minor < FIRST_MINOR || minor >= FIRST_MINOR + VERSIONS)
        return fault(why, "it runs CPython %s, and this version of pyreel reads CPython " LAYOUT_SUPPORTED,
                     event_python_version_text(text, version));
    if (minor >= FIRST_PUBLISHED_MINOR && !published)
        return fault(why, "it has no table of offsets (_Py_DebugOffsets)");
    layout->free_threaded = minor >= FIRST_PUBLISHED_MINOR && is_free_threaded(published, size);
    if (minor == EARLY_MINOR && !check_early(layout, published, size, why))
        return false;
    const unsigned column = minor - FIRST_MINOR;
    for (const struct row *row = rows; row < rows + countof(rows); row++)
        if (!load_row(layout, row, row->from[column], published, size, why))
            return false;
    load_facts(layout, facts, countof(facts), column);
    if (layout->free_threaded)
        load_facts(layout, free_threaded_facts, countof(free_threaded_facts), column);
    else
        load_facts(layout, locked_facts, countof(locked_facts), column);
    check_generations(layout, column);
    layout->opcode_names = opcode_names_of(version, minor);
    layout_complete(layout);
    if (layout->thread_native_id < 48)
        return fault(why, "its table of offsets (_Py_DebugOffsets) is damaged (threads)");
    if (layout->code_name < 8 || layout->code_first_line < 4 || layout->code_instructions < 24 ||
        layout->code_line_table < layout->code_first_line || layout->code_line_table < layout->code_version ||
        layout->code_identity_size > LAYOUT_IDENTITY_MAX)
        return fault(why, "its table of offsets (_Py_DebugOffsets) is damaged (code objects)");
    if (layout->interpreter_size > LAYOUT_INTERPRETER_MAX)
        return fault(why, "its table of offsets (_Py_DebugOffsets) is damaged (interpreters)");
    return true;
}
