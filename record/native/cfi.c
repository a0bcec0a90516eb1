/* SPDX-License-Identifier: MIT */
#include "record/native/cfi.h"

#include "formats/base/bytes.h"

#include <string.h>

#define ROWS_LIMIT   (1u << 24) /* of .eh_frame_hdr; a large library has half a million */
#define ENTRY_LIMIT  32768      /* bytes of a CIE or FDE */
#define STATES_LIMIT 8          /* DW_CFA_remember_state within each other */
#define ROW_SIZE     8          /* bytes of a row of .eh_frame_hdr in the only form that linkers write, ... */
#define ROW_CODING   0x3b       /* ... which is: 4 bytes with a sign, relative to the header */

/* Codings of addresses. */
enum {
    CODING_FORM = 0x0f,
    CODING_RELATIVE = 0x70,
    CODING_PCREL = 0x10,
    CODING_DATAREL = 0x30,
    CODING_OMIT = 0xff,
};

/* Instructions of a CIE or FDE. The first three have their operand in the low six bits. */
enum {
    CFA_ADVANCE = 0x40,
    CFA_OFFSET = 0x80,
    CFA_RESTORE = 0xc0,
    CFA_NOP = 0x00,
    CFA_SET_LOC = 0x01,
    CFA_ADVANCE1 = 0x02,
    CFA_ADVANCE2 = 0x03,
    CFA_ADVANCE4 = 0x04,
    CFA_OFFSET_EXTENDED = 0x05,
    CFA_RESTORE_EXTENDED = 0x06,
    CFA_UNDEFINED = 0x07,
    CFA_SAME_VALUE = 0x08,
    CFA_IN_REGISTER = 0x09,
    CFA_REMEMBER = 0x0a,
    CFA_RECALL = 0x0b,
    CFA_DEFINE = 0x0c,
    CFA_DEFINE_REGISTER = 0x0d,
    CFA_DEFINE_OFFSET = 0x0e,
    CFA_DEFINE_EXPRESSION = 0x0f,
    CFA_EXPRESSION = 0x10,
    CFA_OFFSET_EXTENDED_SF = 0x11,
    CFA_DEFINE_SF = 0x12,
    CFA_DEFINE_OFFSET_SF = 0x13,
    CFA_VALUE_OFFSET = 0x14,
    CFA_VALUE_OFFSET_SF = 0x15,
    CFA_VALUE_EXPRESSION = 0x16,
    CFA_ARGUMENTS_SIZE = 0x2e,
};

/* Operations of expressions. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHIFT_LEFT = 0x24,
    OP_GE = 0x2a,
    OP_LITERAL = 0x30,
    OP_REGISTER = 0x70,
    OP_REGISTER_MOST = 0x8f,
};

/* The content of a CIE. */
struct cie {
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t return_column;
    uint8_t coding; /* of addresses in FDEs */
    bool augmented; /* FDEs have augmentation data */
    bool signal;
    struct cursor instructions;
};

/* ---- numbers ---- */

static uint64_t take_fixed(struct cursor *from, size_t size)
{
    uint64_t value = 0;
    const struct cursor part = take_part(from, size);
    if (!from->bad)
        memcpy(&value, part.at, size);
    return value;
}

static int64_t take_sleb(struct cursor *from)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        const uint64_t byte = take_fixed(from, 1);
        value |= (byte & 0x7f) << shift;
        if (byte & 0x80)
            continue;
        if (byte & 0x40 && shift + 7 < 64)
            value |= UINT64_MAX << (shift + 7);
        return (int64_t)value;
    }
    from->bad = true;
    return 0;
}

/* A number in the form of a coding, without what it is relative to. */
static uint64_t take_form(struct cursor *from, uint8_t coding)
{
    switch (coding & CODING_FORM) {
    case 0x00:
    case 0x04:
    case 0x0c:
        return take_fixed(from, 8);
    case 0x01:
        return take_number(from);
    case 0x02:
        return take_fixed(from, 2);
    case 0x03:
        return take_fixed(from, 4);
    case 0x09:
        return (uint64_t)take_sleb(from);
    case 0x0a:
        return (uint64_t)(int64_t)(int16_t)take_fixed(from, 2);
    case 0x0b:
        return (uint64_t)(int64_t)(int32_t)take_fixed(from, 4);
    default:
        from->bad = true;
        return 0;
    }
}

/* An address. `at`: where the bytes under the cursor lie in the file; `data`: what data is relative to. */
static uint64_t take_address(struct cursor *from, uint8_t coding, uint64_t at, uint64_t data)
{
    const uint64_t value = take_form(from, coding);
    switch (coding & ~CODING_FORM) {
    case 0:
        return value;
    case CODING_PCREL:
        return value + at;
    case CODING_DATAREL:
        return value + data;
    default:
        from->bad = true;
        return 0;
    }
}

/* ---- the table ---- */

bool cfi_open(struct cfi *cfi, const struct image_file *image)
{
    unsigned char head[4 + 8 + 8];
    *cfi = (struct cfi){ .image = image };
    for (size_t i = 0; i < image->segments_count; i++)
        if (image->segments[i].p_type == PT_GNU_EH_FRAME)
            cfi->header = image->segments[i].p_vaddr;
    if (cfi->header == 0 || !image_file_read(image, cfi->header, head, sizeof(head)))
        return false;
    /* { version, coding of the address of .eh_frame, of the count, of the rows }, that address, the count, the rows */
    struct cursor from = cursor_of(head + 4, sizeof(head) - 4);
    take_form(&from, head[1]);
    const uint64_t count = take_form(&from, head[2]);
    if (head[0] != 1 || head[3] != ROW_CODING || head[2] == CODING_OMIT || from.bad || count > ROWS_LIMIT)
        return false;
    cfi->table = cfi->header + (uint64_t)(from.at - head);
    cfi->count = (uint32_t)count;
    return true;
}

static bool read_row(const struct cfi *cfi, uint32_t i, uint64_t *begin, uint64_t *fde)
{
    int32_t row[2];
    if (!image_file_read(cfi->image, cfi->table + (uint64_t)i * ROW_SIZE, row, sizeof(row)))
        return false;
    *begin = cfi->header + (uint64_t)(int64_t)row[0];
    *fde = cfi->header + (uint64_t)(int64_t)row[1];
    return true;
}

/* Finds the last function that begins at or before an address. */
static bool find_function(const struct cfi *cfi, uint64_t address, uint64_t *begin, uint64_t *fde)
{
    uint32_t low = 0, high = cfi->count; /* the row is in [low, high) */
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (!read_row(cfi, middle, begin, fde))
            return false;
        if (*begin <= address)
            low = middle;
        else
            high = middle;
    }
    return cfi->count > 0 && read_row(cfi, low, begin, fde) && *begin <= address;
}

/* ---- entries ---- */

/* Reads the entry at an address. *from: what follows its length. */
static bool read_entry(const struct cfi *cfi, uint64_t address, unsigned char room[ENTRY_LIMIT], struct cursor *from)
{
    uint32_t size;
    if (!image_file_read(cfi->image, address, &size, sizeof(size)) || size < 4 || size > ENTRY_LIMIT ||
        !image_file_read(cfi->image, address + 4, room, size))
        return false;
    *from = cursor_of(room, size);
    return true;
}

/* Takes the augmentation data that its text names. */
static void take_augmentation(struct cie *cie, const char *text, struct cursor data)
{
    for (text++; *text && !data.bad; text++) {
        if (*text == 'R')
            cie->coding = (uint8_t)take_fixed(&data, 1);
        else if (*text == 'L')
            take_fixed(&data, 1);
        else if (*text == 'P')
            take_form(&data, (uint8_t)take_fixed(&data, 1));
        else if (*text == 'S')
            cie->signal = true;
        else
            return;
    }
}

static bool read_cie(const struct cfi *cfi, uint64_t address, unsigned char room[ENTRY_LIMIT], struct cie *cie)
{
    struct cursor from;
    if (!read_entry(cfi, address, room, &from) || take_fixed(&from, 4) != 0)
        return false;
    const uint64_t version = take_fixed(&from, 1);
    const unsigned char *text = from.at, *end = memchr(text, 0, cursor_left(&from));
    if ((version != 1 && version != 3) || !end)
        return false;
    from.at = end + 1;
    *cie = (struct cie){ .code_unit = take_number(&from), .data_unit = take_sleb(&from) };
    cie->return_column = version == 1 ? take_fixed(&from, 1) : take_number(&from);
    cie->augmented = *text == 'z';
    if (cie->augmented)
        take_augmentation(cie, (const char *)text, take_part(&from, take_number(&from)));
    else if (*text)
        return false;
    cie->instructions = from;
    return !from.bad && cie->return_column == CFI_RETURN;
}

/* ---- expressions ---- */

/* Takes "register + offset". */
static bool take_sum(struct cursor *from, uint8_t *base, int32_t *offset)
{
    const uint64_t op = take_fixed(from, 1);
    const int64_t distance = take_sleb(from);
    *base = (uint8_t)(op - OP_REGISTER);
    *offset = (int32_t)distance;
    return !from->bad && op >= OP_REGISTER && op < OP_REGISTER + CFI_REGISTERS && distance == *offset;
}

/* The expression of procedure linkage tables: sp + offset + ((pc & 15) >= least) << 3. */
static bool is_plt(struct cursor from, uint8_t *least)
{
    const uint64_t pc = take_fixed(&from, 1), zero = take_fixed(&from, 1);
    const uint64_t fifteen = take_fixed(&from, 1), and = take_fixed(&from, 1), number = take_fixed(&from, 1);
    const uint64_t ge = take_fixed(&from, 1), three = take_fixed(&from, 1), shift = take_fixed(&from, 1);
    const uint64_t plus = take_fixed(&from, 1);
    *least = (uint8_t)(number - OP_LITERAL);
    return !from.bad && cursor_left(&from) == 0 && pc == OP_REGISTER + CFI_RETURN && zero == 0 &&
           fifteen == OP_LITERAL + 15 && and == OP_AND && *least < 16 && ge == OP_GE && three == OP_LITERAL + 3 &&
           shift == OP_SHIFT_LEFT && plus == OP_PLUS;
}

static bool understand_cfa(struct cfi_rule *rule, struct cursor from)
{
    if (!take_sum(&from, &rule->cfa_register, &rule->cfa_offset))
        return false;
    rule->cfa = CFA_REGISTER;
    if (cursor_left(&from) == 1 && *from.at == OP_DEREF)
        rule->cfa = CFA_WORD;
    else if (cursor_left(&from) > 0 && rule->cfa_register == CFI_RSP && is_plt(from, &rule->least))
        rule->cfa = CFA_PLT;
    else
        return cursor_left(&from) == 0;
    return true;
}

/* ---- instructions ---- */

/* The state of the interpretation. */
struct cfi_run {
    const struct cie *cie;
    uint64_t wanted;         /* the address whose row is wanted */
    uint64_t at;             /* the row holds from here on */
    struct cfi_rule row;     /* begin and end are not set */
    struct cfi_rule initial; /* after the CIE's instructions */
    struct cfi_rule states[STATES_LIMIT];
    size_t states_count;
    bool understood; /* the row's CFA is */
};

/* Numbers wrap: they are not trusted. */
static int64_t scaled(uint64_t number, int64_t unit)
{
    return (int64_t)(number * (uint64_t)unit);
}

static void set_column(struct cfi_run *run, uint64_t column, uint8_t base, int64_t offset)
{
    if (column >= CFI_COLUMNS)
        return;
    const bool fits = offset == (int32_t)offset;
    run->row.base[column] = fits ? base : CFI_UNKNOWN;
    run->row.offset[column] = fits ? (int32_t)offset : 0;
}

static void set_cfa(struct cfi_run *run, uint64_t column, int64_t offset)
{
    run->row.cfa = CFA_REGISTER;
    run->row.cfa_register = (uint8_t)column;
    run->row.cfa_offset = (int32_t)offset;
    run->understood = column < CFI_REGISTERS && offset == (int32_t)offset;
}

static void restore(struct cfi_run *run, uint64_t column)
{
    if (column < CFI_COLUMNS)
        set_column(run, column, run->initial.base[column], run->initial.offset[column]);
}

/* Moves on by so many units of code. Returns whether the row that is wanted was passed; then it stays. */
static bool advance(struct cfi_run *run, uint64_t units)
{
    const uint64_t next = run->at + units * run->cie->code_unit;
    if (next > run->wanted || next < run->at) {
        run->row.end = next < run->at ? UINT64_MAX : next;
        return true;
    }
    run->at = next;
    return false;
}

static void take_expression(struct cfi_run *run, struct cursor *from)
{
    const uint64_t column = take_number(from);
    struct cursor part = take_part(from, take_number(from));
    uint8_t base = CFI_UNKNOWN;
    int32_t offset = 0;
    const bool sum = take_sum(&part, &base, &offset) && cursor_left(&part) == 0;
    set_column(run, column, sum ? base : CFI_UNKNOWN, sum ? offset : 0);
}

static void cfi_recall(struct cfi_run *run, struct cursor *from)
{
    if (run->states_count == 0) {
        from->bad = true;
        return;
    }
    run->row = run->states[--run->states_count];
    run->understood = run->row.cfa_register < CFI_REGISTERS;
}

static void cfi_remember(struct cfi_run *run, struct cursor *from)
{
    if (run->states_count == STATES_LIMIT) {
        from->bad = true;
        return;
    }
    if (!run->understood)
        run->row.cfa_register = CFI_REGISTERS;
    run->states[run->states_count++] = run->row;
}

/* Runs an instruction that does not move on. */
static void run_one(struct cfi_run *run, uint64_t op, struct cursor *from)
{
    const int64_t unit = run->cie->data_unit;
    uint64_t column;
    switch (op) {
    case CFA_NOP:
        break;
    case CFA_OFFSET_EXTENDED:
        column = take_number(from);
        set_column(run, column, CFI_AT_CFA, scaled(take_number(from), unit));
        break;
    case CFA_OFFSET_EXTENDED_SF:
        column = take_number(from);
        set_column(run, column, CFI_AT_CFA, scaled((uint64_t)take_sleb(from), unit));
        break;
    case CFA_RESTORE_EXTENDED:
        restore(run, take_number(from));
        break;
    case CFA_UNDEFINED:
        set_column(run, take_number(from), CFI_LOST, 0);
        break;
    case CFA_SAME_VALUE:
        set_column(run, take_number(from), CFI_SAME, 0);
        break;
    case CFA_IN_REGISTER:
    case CFA_VALUE_OFFSET:
        set_column(run, take_number(from), CFI_UNKNOWN, 0);
        take_number(from);
        break;
    case CFA_VALUE_OFFSET_SF:
        set_column(run, take_number(from), CFI_UNKNOWN, 0);
        take_sleb(from);
        break;
    case CFA_VALUE_EXPRESSION:
        set_column(run, take_number(from), CFI_UNKNOWN, 0);
        take_part(from, take_number(from));
        break;
    case CFA_EXPRESSION:
        take_expression(run, from);
        break;
    case CFA_REMEMBER:
        cfi_remember(run, from);
        break;
    case CFA_RECALL:
        cfi_recall(run, from);
        break;
    case CFA_DEFINE:
        column = take_number(from);
        set_cfa(run, column, (int64_t)take_number(from));
        break;
    case CFA_DEFINE_SF:
        column = take_number(from);
        set_cfa(run, column, scaled((uint64_t)take_sleb(from), unit));
        break;
    case CFA_DEFINE_REGISTER:
        set_cfa(run, take_number(from), run->row.cfa_offset);
        break;
    case CFA_DEFINE_OFFSET:
        set_cfa(run, run->row.cfa_register, (int64_t)take_number(from));
        break;
    case CFA_DEFINE_OFFSET_SF:
        set_cfa(run, run->row.cfa_register, scaled((uint64_t)take_sleb(from), unit));
        break;
    case CFA_DEFINE_EXPRESSION:
        run->understood = understand_cfa(&run->row, take_part(from, take_number(from)));
        break;
    case CFA_ARGUMENTS_SIZE:
        take_number(from);
        break;
    default:
        from->bad = true;
    }
}

/* Runs instructions, up to the row that is wanted. False: they are damaged. */
static bool run_all(struct cfi_run *run, struct cursor from)
{
    while (cursor_left(&from) > 0 && !from.bad) {
        const uint64_t op = take_fixed(&from, 1);
        bool passed = false;
        if ((op & 0xc0) == CFA_ADVANCE)
            passed = advance(run, op & 0x3f);
        else if ((op & 0xc0) == CFA_OFFSET)
            set_column(run, op & 0x3f, CFI_AT_CFA, scaled(take_number(&from), run->cie->data_unit));
        else if ((op & 0xc0) == CFA_RESTORE)
            restore(run, op & 0x3f);
        else if (op >= CFA_ADVANCE1 && op <= CFA_ADVANCE4)
            passed = advance(run, take_fixed(&from, (size_t)1 << (op - CFA_ADVANCE1)));
        else
            run_one(run, op, &from);
        if (passed)
            return !from.bad;
    }
    return !from.bad;
}

bool cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_rule *rule)
{
    static unsigned char fde_room[ENTRY_LIMIT], cie_room[ENTRY_LIMIT]; /* one thread makes rules */
    uint64_t begin = 0, fde = 0;
    struct cursor from;
    struct cie cie;
    if (!find_function(cfi, address, &begin, &fde) || !read_entry(cfi, fde, fde_room, &from))
        return false;
    const uint64_t back = take_fixed(&from, 4); /* from this word to the CIE */
    if (back == 0 || !read_cie(cfi, fde + 4 - back, cie_room, &cie))
        return false;
    begin = take_address(&from, cie.coding, fde + 8, cfi->header);
    const uint64_t size = take_form(&from, cie.coding);
    if (cie.augmented)
        take_part(&from, take_number(&from));
    if (from.bad || address - begin >= size || size > UINT64_MAX - begin)
        return false;
    struct cfi_run run = { .cie = &cie, .wanted = address, .at = begin };
    memset(run.row.base, CFI_SAME, sizeof(run.row.base));
    run.row.base[CFI_RETURN] = CFI_UNKNOWN;
    run.wanted = UINT64_MAX; /* the CIE's instructions have no addresses */
    if (!run_all(&run, cie.instructions))
        return false;
    run.initial = run.row;
    run.wanted = address;
    run.at = begin;
    run.row.end = begin + size;
    if (!run_all(&run, from) || !run.understood)
        return false;
    *rule = run.row;
    rule->begin = address;
    rule->function = begin;
    rule->end = run.row.end < begin + size ? run.row.end : begin + size;
    rule->signal = cie.signal;
    return true;
}
