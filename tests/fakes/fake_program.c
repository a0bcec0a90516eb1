/* SPDX-License-Identifier: MIT */
#include "tests/fakes/fake_program.h"

#include "formats/base/alloc.h"

#include <assert.h>
#include <stdio.h>

#define UNITS 31 /* of each function; the last one returns */

uint32_t fake_program_random(struct fake_program *program, uint32_t limit)
{
    program->random = program->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(program->random >> 33) % limit;
}

const char *fake_program_text(const struct fake_program *program)
{
    static char text[4096];
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < program->count; i++) {
        const struct fake_frame *frame = &program->frames[i];
        if (frame->kind == SHIM)
            continue;
        const struct layout *l = fake_layout(program->p);
        const uint64_t name = fake_peek(program->p, frame->code + l->code_name) + l->string_ascii;
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s:%u", used ? " " : "",
                                 (const char *)fake_bytes(program->p, name),
                                 fake_peek4(program->p, frame->code + l->code_first_line) + (uint32_t)frame->unit);
        assert(used < sizeof(text));
    }
    return text;
}

struct fake_program fake_program_start(struct fake_python *p, size_t thread, uint64_t seed, bool off_stack)
{
    static const char *const names[] = { "main", "f", "g", "h", "k", "l" };
    struct fake_program program = {
        .p = p, .thread = thread, .random = seed * 77 + 1, .most = 12, .off_stack = off_stack
    };
    for (size_t i = 0; i < countof(names); i++) {
        program.functions[i] = fake_code(p, names[i], 1 + (uint32_t)i * 100, UNITS);
        fake_code_words(p, program.functions[i], 1 + (uint32_t)i % 3 * 7, 3 + (uint32_t)i % 2 * 5);
    }
    program.functions_count = countof(names);
    for (size_t i = 0; i < countof(program.generators); i++) {
        program.generators[i] = fake_generator(p, "gen", 1001 + (uint32_t)i * 100, UNITS);
        fake_code_words(p, program.generators[i], 1 + (uint32_t)i, 4);
    }
    program.frames[program.count++] = (struct fake_frame){ PLAIN, program.functions[0], 0 };
    fake_stack(p, thread, program.frames, program.count);
    return program;
}

static void push(struct fake_program *program)
{
    struct fake_frame *next = &program->frames[program->count];
    const uint32_t way = program->off_stack ? fake_program_random(program, 6) : 0;
    const int unit = (int)fake_program_random(program, UNITS - 1);
    const uint64_t function =
        program->functions[1 + fake_program_random(program, (uint32_t)program->functions_count - 1)];
    const uint64_t generator = program->generators[fake_program_random(program, countof(program->generators))];
    if (way == 5) {
        *next++ = (struct fake_frame){ .kind = SHIM };
        program->count++;
    }
    const bool driven = way == 3 || way == 4;
    *next = (struct fake_frame){ driven ? GENERATOR : PLAIN, driven ? generator : function, unit };
    program->count++;
}

void fake_program_step(struct fake_program *program)
{
    struct fake_python *p = program->p;
    struct fake_frame *leaf = &program->frames[program->count - 1];
    const uint32_t what = fake_program_random(program, 8);
    if (leaf->kind == SHIM || (what < 3 && program->count > 1))
        program->count--;
    else if (what < 6 && program->count + 2 <= program->most)
        push(program);
    else
        leaf->unit = (int)fake_program_random(program, UNITS - 1);
    fake_stack(p, program->thread, program->frames, program->count);
}
