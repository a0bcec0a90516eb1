/* SPDX-License-Identifier: MIT */
#include "record/native/frame_pointer.h"

#include <string.h>

#define FRAMES 64 /* most frames up to the loop */
#define BEFORE 7  /* bytes of the longest call that is known */

enum call { CALL_NONE, CALL_DIRECT, CALL_BY_POINTER };

bool frame_pointer_lacks(const struct code_place *code, const struct c_registers *registers)
{
    return code->ruled && code->rule.cfa_register == CFI_RBP && !(registers->known >> CFI_RBP & 1);
}

/* ---- calls ---- */

/* Whether code at an address of the process jumps on by a pointer: the stub of a function of another library. */
static bool is_stub(const struct code_map *map, uint64_t address)
{
    static const unsigned char branch[] = { 0xf3, 0x0f, 0x1e, 0xfa }; /* endbr64 */
    unsigned char bytes[8];
    if (remote_read(map->remote, address, bytes, sizeof(bytes)) != REMOTE_READ)
        return false;
    const unsigned char *at = memcmp(bytes, branch, sizeof(branch)) == 0 ? bytes + sizeof(branch) : bytes;
    at += *at == 0xf2; /* bnd */
    return at[0] == 0xff && at[1] == 0x25;
}

/* Whether the bytes before a return address end in a call by a pointer: ff, and a form of operand of that size. */
static bool ends_in_pointer_call(const unsigned char bytes[BEFORE])
{
    const unsigned char *end = bytes + BEFORE;
    return (end[-2] == 0xff && (end[-1] & 0xf8) == 0xd0) ||                      /* call *%rax */
           (end[-2] == 0xff && (end[-1] & 0xf8) == 0x10) ||                      /* call *(%rax) */
           (end[-3] == 0xff && ((end[-2] & 0xf8) == 0x50 || end[-2] == 0x14)) || /* call *8(%rax), *(%rax,%rbx) */
           (end[-4] == 0xff && end[-3] == 0x54) ||                               /* call *8(%rsp) */
           (end[-6] == 0xff && ((end[-5] & 0xf8) == 0x90 || end[-5] == 0x15)) || /* call *800(%rax), *800(%rip) */
           (end[-7] == 0xff && (end[-6] == 0x94 || end[-6] == 0x14));            /* call *800(%rsp), *800(,%rax,8) */
}

/* Returns the kind of call of a function that is before a return address, both addresses of the process. */
static enum call call_before(const struct code_map *map, uint64_t address, uint64_t function)
{
    unsigned char bytes[BEFORE];
    int32_t distance;
    if (remote_read(map->remote, address - BEFORE, bytes, BEFORE) != REMOTE_READ)
        return CALL_NONE;
    memcpy(&distance, bytes + BEFORE - 4, sizeof(distance));
    const uint64_t target = address + (uint64_t)(int64_t)distance;
    if (bytes[BEFORE - 5] == 0xe8 && target == function)
        return CALL_DIRECT;
    if (ends_in_pointer_call(bytes) || (bytes[BEFORE - 5] == 0xe8 && code_map_has(map, target) && is_stub(map, target)))
        return CALL_BY_POINTER;
    return CALL_NONE;
}

/* ---- the search ---- */

/* Whether all rules lead from a frame pointer to the frame that has `entry` and ends at `end`. */
static bool leads_to_loop(struct code_map *map, const struct c_copy *copy, const struct c_registers *from,
                          uint64_t entry, uint64_t end)
{
    struct c_frame frames[FRAMES];
    size_t count;
    return c_stack_unwind(map, from, copy, entry, frames, FRAMES, &count, NULL) == C_ROOT &&
           frames[count - 1].cfa == end && frames[count - 1].sp <= entry;
}

bool frame_pointer_find(struct code_map *map, const struct c_copy *copy, uint64_t entry, uint64_t end,
                        struct c_registers *registers)
{
    const struct code_place *code = code_map_find(map, registers->pc - registers->behind_call);
    const uint64_t function = code->rule.function + (registers->pc - registers->behind_call - code->rule.begin);
    struct c_registers tried = *registers;
    uint64_t found[CALL_BY_POINTER + 1] = { 0 }, outer, address;
    unsigned counts[CALL_BY_POINTER + 1] = { 0 };
    tried.known |= 1u << CFI_RBP;
    /* Functions align it to 16 bytes. */
    for (uint64_t at = (registers->values[CFI_RSP] + 15) & ~15ull; at < entry; at += 16) {
        if (!c_stack_word(copy, at, &outer) || !c_stack_word(copy, at + 8, &address) || outer <= at || outer > end ||
            !code_map_has(map, address - 1))
            continue;
        const enum call call = call_before(map, address, function);
        tried.values[CFI_RBP] = at;
        if (call == CALL_NONE || !leads_to_loop(map, copy, &tried, entry, end))
            continue;
        found[call] = at;
        counts[call]++;
    }
    const enum call believed = counts[CALL_DIRECT] ? CALL_DIRECT : CALL_BY_POINTER;
    if (counts[believed] != 1)
        return false;
    registers->values[CFI_RBP] = found[believed];
    registers->known |= 1u << CFI_RBP;
    return true;
}
