/* SPDX-License-Identifier: MIT */
/* Call frame information: how to find the caller of a piece of code. Compilers write it into each program and library
 * for x86-64, because exceptions of C++ need it (.eh_frame). It is there without debug information, too.
 *
 *     .eh_frame_hdr   {start of a function, its FDE}   sorted
 *     FDE             a function, and instructions that make the rows
 *     CIE             what many FDEs have in common
 *
 * A row holds from one address in a function to the next, and says where the frame ends ("CFA": the stack pointer
 * before the call), and where the caller's registers are saved. Sources: DWARF 5, section 6.4; the Linux Standard Base,
 * ".eh_frame"; the x86-64 psABI for the numbers of registers. Of expressions, those are understood that programs have:
 * a register plus an offset, the word there, and that of a procedure linkage table.
 *
 * The bytes are the program's, and are not trusted: sizes, loops and depth are bounded. */
#ifndef PYREEL_RECORD_NATIVE_CFI_H
#define PYREEL_RECORD_NATIVE_CFI_H

#include "record/native/names/image_file.h"

#define CFI_REGISTERS 16 /* rax rdx rcx rbx rsi rdi rbp rsp r8 ... r15, as DWARF counts them */
#define CFI_RBX       3
#define CFI_RBP       6
#define CFI_RSP       7
#define CFI_RETURN    16 /* the column of the return address */
#define CFI_COLUMNS   17

/* Where a column's value for the caller is, besides `register + offset`. */
enum cfi_base {
    CFI_AT_CFA = CFI_REGISTERS, /* in memory at CFA + offset. Below: in memory at register + offset */
    CFI_SAME,                   /* the register has it */
    CFI_LOST,                   /* nowhere. Of the return address: there is no caller */
    CFI_UNKNOWN,                /* where is not understood */
};

enum cfi_cfa {
    CFA_REGISTER, /* register + offset */
    CFA_WORD,     /* the word in memory at register + offset */
    CFA_PLT,      /* sp + offset, + 8 when the low four bits of the address are `least` or more */
};

/* A row. */
struct cfi_rule {
    uint64_t begin, end; /* the addresses in the file for which it holds; `begin` is the one that was asked for */
    uint64_t function;   /* where the function, or a part of it that lies elsewhere, begins */
    uint8_t cfa;         /* enum cfi_cfa */
    uint8_t cfa_register, least;
    bool signal; /* a signal handler's return: the caller was interrupted, and did not call */
    uint8_t base[CFI_COLUMNS];
    int32_t cfa_offset, offset[CFI_COLUMNS];
};

/* The table of an image; `= {0}` is empty. */
struct cfi {
    const struct image_file *image; /* lives as long */
    uint64_t header, table;         /* addresses of .eh_frame_hdr and its rows */
    uint32_t count;
};

/* Finds the table of an image. False: it has none that is understood. */
bool cfi_open(struct cfi *cfi, const struct image_file *image);

/* Makes the row for an address. False: there is none, or it is not understood. */
bool cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_rule *rule);

#endif
