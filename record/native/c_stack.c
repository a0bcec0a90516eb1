/* SPDX-License-Identifier: MIT */
#include "record/native/c_stack.h"

#include <string.h>

#define KEPT (1u << CFI_RBX | 1u << CFI_RBP | 0xfu << 12) /* registers that a function gives back as it got them */

bool c_stack_word(const struct c_copy *copy, uint64_t address, uint64_t *word)
{
    const uint64_t offset = address - copy->begin;
    if (offset >= copy->size || copy->size - offset < sizeof(*word))
        return false;
    memcpy(word, copy->bytes + offset, sizeof(*word));
    return true;
}

static bool register_sum(const struct c_registers *registers, uint8_t base, int32_t offset, uint64_t *sum)
{
    if (base >= CFI_REGISTERS || !(registers->known >> base & 1))
        return false;
    *sum = registers->values[base] + (uint64_t)(int64_t)offset;
    return true;
}

static bool find_cfa(const struct cfi_rule *rule, const struct c_registers *r, const struct c_copy *copy, uint64_t *cfa)
{
    if (!register_sum(r, rule->cfa_register, rule->cfa_offset, cfa))
        return false;
    if (rule->cfa == CFA_WORD)
        return c_stack_word(copy, *cfa, cfa);
    if (rule->cfa == CFA_PLT && (r->pc & 15) >= rule->least)
        *cfa += 8;
    return true;
}

/* The value of a column for the caller. False: it is not known. */
static bool find_column(const struct cfi_rule *rule, unsigned column, const struct c_registers *r,
                        const struct c_copy *copy, uint64_t cfa, uint64_t *value)
{
    const uint8_t base = rule->base[column];
    uint64_t at = cfa + (uint64_t)(int64_t)rule->offset[column];
    if (base == CFI_SAME) {
        *value = r->values[column];
        return (r->known & (rule->signal ? UINT32_MAX : KEPT)) >> column & 1;
    }
    if (base != CFI_AT_CFA && !register_sum(r, base, rule->offset[column], &at))
        return false;
    return c_stack_word(copy, at, value);
}

/* Sets *caller to the registers of the caller. False: the return address is not known. */
static bool find_caller(const struct cfi_rule *rule, const struct c_registers *r, const struct c_copy *copy,
                        uint64_t cfa, struct c_registers *caller)
{
    *caller = (struct c_registers){ 0 };
    for (unsigned column = 0; column < CFI_REGISTERS; column++)
        if (find_column(rule, column, r, copy, cfa, &caller->values[column]))
            caller->known |= 1u << column;
    if (rule->base[CFI_RSP] == CFI_SAME) { /* as everywhere but behind a signal handler */
        caller->values[CFI_RSP] = cfa;
        caller->known |= 1u << CFI_RSP;
    }
    return rule->base[CFI_RETURN] != CFI_SAME && find_column(rule, CFI_RETURN, r, copy, cfa, &caller->pc);
}

bool c_stack_caller(const struct cfi_rule *rule, uint64_t cfa, const struct c_copy *copy, struct c_registers *caller)
{
    const struct c_registers nothing = { 0 };
    const bool good = find_caller(rule, &nothing, copy, cfa, caller);
    caller->behind_call = true;
    return good;
}

/* Where no table has the code, as that of a just-in-time compiler: the chain of frame pointers, if it leads to code of
 * a file. At the leaf also a return address at the top of the stack, as in the trampolines of libffi. */
static bool find_caller_without_rule(const struct code_map *map, const struct code_place *code,
                                     const struct c_registers *r, const struct c_copy *copy, uint64_t *cfa,
                                     struct c_registers *caller)
{
    const uint64_t sp = r->values[CFI_RSP], pointer = r->values[CFI_RBP];
    *caller = *r;
    caller->known &= KEPT;
    if (code->trampoline && r->behind_call) {
        *cfa = sp + 16;
        if (r->known >> CFI_RBP & 1 && pointer == sp) /* the word is the caller's frame pointer */
            c_stack_word(copy, sp, &caller->values[CFI_RBP]);
        caller->values[CFI_RSP] = *cfa;
        caller->known |= 1u << CFI_RSP;
        return c_stack_word(copy, sp + 8, &caller->pc);
    }
    *cfa = pointer + 16;
    bool found = r->known >> CFI_RBP & 1 && pointer >= sp && c_stack_word(copy, pointer + 8, &caller->pc) &&
                 c_stack_word(copy, pointer, &caller->values[CFI_RBP]) && code_map_has(map, caller->pc - 1);
    if (!found && !r->behind_call) {
        caller->values[CFI_RBP] = pointer;
        *cfa = sp + 8;
        found = c_stack_word(copy, sp, &caller->pc) && code_map_has(map, caller->pc - 1);
    }
    caller->values[CFI_RSP] = *cfa;
    caller->known |= 1u << CFI_RSP;
    return found;
}

enum c_end c_stack_unwind(struct code_map *map, const struct c_registers *from, const struct c_copy *copy,
                          uint64_t last, struct c_frame *frames, size_t room, size_t *count,
                          struct c_registers *stopped)
{
    struct c_registers r = *from, caller;
    for (*count = 0; *count < room; r = caller) {
        if (stopped)
            *stopped = r;
        struct code_place *code = code_map_find(map, r.pc - r.behind_call);
        const uint64_t sp = r.values[CFI_RSP];
        uint64_t cfa = sp;
        const bool by_rule = code->ruled && find_cfa(&code->rule, &r, copy, &cfa);
        const bool found = by_rule ? find_caller(&code->rule, &r, copy, cfa, &caller)
                                   : !code->in_module && find_caller_without_rule(map, code, &r, copy, &cfa, &caller);
        frames[(*count)++] = (struct c_frame){ sp, by_rule || found ? cfa : sp, code };
        if (last && (by_rule || found) && last < cfa)
            return C_ROOT;
        if (!by_rule && !found)
            return C_NO_RULE;
        if (by_rule && code->rule.base[CFI_RETURN] == CFI_LOST)
            return C_ROOT;
        if (!found || (cfa <= sp && !(by_rule && code->rule.signal)))
            return C_CUT;
        if (caller.pc == 0)
            return C_ROOT;
        caller.behind_call = !(by_rule && code->rule.signal);
    }
    return C_DEEP;
}
