/* SPDX-License-Identifier: MIT */
/* A large program that says, as CPythons of two versions do, that it has a runtime, and never starts an interpreter.
 * Works until its standard input ends. */
#include <poll.h>

__attribute__((visibility("default"))) char _PyRuntime[1 << 16];
static const unsigned long numbers[] __attribute__((used)) = { 0x030b07f0, 0x030c01f0 };
static const char text_a[] __attribute__((used)) = "3.11.7", text_b[] __attribute__((used)) = "3.12.1";
__asm__(".section .rodata\n.fill 0x8000000, 1, 0x20\n.text");

int main(void)
{
    struct pollfd input = { .fd = 0, .events = POLLIN };
    while (poll(&input, 1, 0) == 0)
        _PyRuntime[1 << 15]++;
    return 0;
}
