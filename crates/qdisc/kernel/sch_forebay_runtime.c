// SPDX-License-Identifier: GPL-2.0 OR MIT
/* What the disciplines need of the kernel: memory, random numbers, a stack, and an end of the run after a fault. */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include "sch_forebay.h"

/* The run ends with a message before less of a kernel stack than this is left. */
#define STACK_RESERVE (16 << 10)

void forebay_fail(const char *message, size_t len)
{
	char text[600];

	forebay_say(text, scnprintf(text, sizeof(text), "fault %.*s", (int)len, message));
	forebay_flush();
	panic("forebay: %.*s", (int)len, message);
}

void forebay_stop(const char *message)
{
	forebay_fail(message, strlen(message));
}

void *forebay_alloc(size_t size, size_t align)
{
	/* Sizes that are a power of two are aligned to themselves. */
	if (align > ARCH_KMALLOC_MINALIGN)
		size = roundup_pow_of_two(max(size, align));
	return kmalloc(size, GFP_ATOMIC | __GFP_NOWARN);
}

void forebay_free(void *at)
{
	kfree(at);
}

void _Unwind_Resume(void)
{
	forebay_stop("unwinding");
}

void rust_eh_personality(void)
{
	forebay_stop("unwinding");
}

/* The stream of the qdisc that is being created or called; NULL: the kernel's random numbers. */
void *forebay_drawing;

/* crates/linux/src/build/edits.rs lets qdiscs call these instead of the kernel's functions. */
u64 forebay_random_u64(void)
{
	u64 bits;

	if (forebay_drawing)
		return forebay_draw(forebay_drawing);
	get_random_bytes(&bits, sizeof(bits));
	return bits;
}

u32 forebay_random_u32(void)
{
	return forebay_drawing ? forebay_draw(forebay_drawing) >> 32 : get_random_u32();
}

/* As get_random_u32_below: the first product whose lower half is not in the remainder of 2^32. */
u32 forebay_random_below(u32 count)
{
	u64 product;

	if (!forebay_drawing)
		return get_random_u32_below(count);
	do
		product = (u64)count * forebay_random_u32();
	while ((u32)product < count && (u32)product < -count % count);
	return product >> 32;
}

/* Bytes of the present kernel stack below this frame. The thread's description is at its end. */
static noinline size_t stack_left(void)
{
	size_t at = (unsigned long)__builtin_frame_address(0) & (THREAD_SIZE - 1);

	return at - min(at, sizeof(struct thread_info));
}

void forebay_check_stack(void)
{
	if (stack_left() < STACK_RESERVE)
		forebay_stop("less than 16 KiB of a kernel stack are left");
}

/*
 * Builds a queue, and reports how much of the stack this took: the stack below is filled with a pattern before, and
 * searched for it afterwards.
 */
noinline void *forebay_build(const struct forebay_order *order, u8 *why, size_t why_len, const char *link)
{
	size_t left = stack_left(), margin = 512, used = 0;
	unsigned char *top = (unsigned char *)__builtin_frame_address(0) - margin;
	unsigned char *end = (unsigned char *)__builtin_frame_address(0) - left + 64, *at;
	char text[160];
	void *queue;

	for (at = end; at < top; at++)
		*(volatile unsigned char *)at = 0xa5;
	queue = forebay_new(order, why, why_len);
	for (at = end; at < top && *(volatile unsigned char *)at == 0xa5; at++)
		;
	used = top - at + margin;
	forebay_say(text, scnprintf(text, sizeof(text), "stack %zu %zu %s", used, left, link));
	if (left - used < STACK_RESERVE)
		forebay_stop("the construction of a discipline leaves less than 16 KiB of a kernel stack");
	return queue;
}
