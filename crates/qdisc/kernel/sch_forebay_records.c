// SPDX-License-Identifier: GPL-2.0 OR MIT
/*
 * Records of what happens to packets. They go through a buffer to a descriptor of the host, and so do texts that the
 * guest's programs write to /proc/forebay. crates/linux/src/records.rs reads them.
 */
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/proc_fs.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <os.h>
#include "sch_forebay.h"

/* The descriptor of the host, and the number of bytes that are written to it at once. */
#define OUT 100
#define BUFFER (64 << 10)

/* Every qdisc of this kind. */
LIST_HEAD(forebay_all);
static u8 buffer[BUFFER];
static size_t filled;

void forebay_flush(void)
{
	size_t done = 0;

	while (done < filled) {
		int n = os_write_file(OUT, buffer + done, filled - done);

		if (n <= 0)
			break;
		done += n;
	}
	filled = 0;
}

void forebay_put(const void *bytes, size_t len)
{
	if (filled + len > BUFFER)
		forebay_flush();
	memcpy(buffer + filled, bytes, len);
	filled += len;
}

void forebay_say(const char *text, size_t len)
{
	struct record head = { .kind = TEXT, .at = ktime_get_ns() };

	head.value = min_t(size_t, len, 4096);
	forebay_put(&head, sizeof(head));
	forebay_put(text, head.value);
}

/* The present in the time of the run. */
u64 forebay_time(const struct forebay *f)
{
	u64 now = ktime_get_ns();

	return now > f->start ? now - f->start : 0;
}

void forebay_note(const struct forebay *f, u8 kind, u64 at, const struct seen *seen, u32 len, u32 id, u32 value)
{
	struct record r = {
		.kind = kind, .link = f->link, .ecn = seen->ecn, .flags = seen->flags, .len = len, .flow = seen->flow,
		.id = id, .value = value, .at = at,
	};

	/* A link that is not under study. */
	if (f->link != 255)
		forebay_put(&r, sizeof(r));
}

/* Records the beginning of a packet, if packets are captured here. */
void forebay_headers(const struct forebay *f, u64 at, const struct seen *seen, const struct sk_buff *skb, u32 id)
{
	int offset = skb_network_offset(skb);
	u32 len = min_t(u32, f->snap, skb->len - offset);
	struct record head = {
		.kind = HEADERS, .link = f->link, .flags = seen->flags, .len = skb->len - offset, .flow = seen->flow, .id = id,
		.value = len, .at = at,
	};
	u8 bytes[MOST_SNAP];

	if (!f->snap || skb_copy_bits(skb, offset, bytes, len))
		return;
	forebay_put(&head, sizeof(head));
	forebay_put(bytes, len);
}

/* Records the internal variables of the discipline at every sampling time up to now. */
void forebay_samples(struct forebay *f, u64 now)
{
	while (f->sample && f->next_sample <= now) {
		struct record head = {
			.kind = PROBES, .link = f->link, .value = f->probes, .at = f->next_sample,
		};
		double values[MOST_PROBES];

		forebay_advance(f->queue, f->next_sample);
		forebay_probes(f->queue, values, f->probes);
		forebay_put(&head, sizeof(head));
		forebay_put(values, f->probes * sizeof(double));
		f->next_sample += f->sample;
	}
}

/* Texts of the guest's programs. A text that begins with "end" completes the records of every queue. */
static ssize_t proc_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	size_t most = min_t(size_t, len, 4096);
	char *text = kmalloc(4096, GFP_KERNEL);
	struct forebay *f;

	if (!text || copy_from_user(text, from, most)) {
		kfree(text);
		return -EFAULT;
	}
	local_bh_disable();
	if (most >= 3 && !memcmp(text, "end", 3))
		list_for_each_entry(f, &forebay_all, all)
			if (f->queue)
				forebay_samples(f, forebay_time(f));
	forebay_say(text, most);
	forebay_flush();
	local_bh_enable();
	kfree(text);
	return most;
}

static const struct proc_ops proc_ops = { .proc_write = proc_write };

static int __init records_init(void)
{
	BUILD_BUG_ON(sizeof(struct record) != 24);
	return proc_create("forebay", 0222, NULL, &proc_ops) ? 0 : -ENOMEM;
}
device_initcall(records_init);
