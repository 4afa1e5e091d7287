/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fuzz_packet.c - what fabric.so tells sfabricd: a packet that is read can be written, and says the
 * same again.
 */
#include "fuzz.h"
#include "packet.h"

static void run(const char *data, size_t len)
{
	struct packet p, again;
	struct err err = { "" };
	char text[PACKET_MAX];
	int rc = packet_read(data, len, &p, &err), written;

	must(rc == 0 || (rc == -EPROTO && err.text[0]));
	if (rc < 0)
		return;
	written = packet_write(&p, text);
	must(written > 0 && written <= PACKET_MAX);
	must(packet_read(text, (size_t)written, &again, &err) == 0);
	must(memcmp(&p, &again, sizeof(p)) == 0);
}

const struct fuzz_target fuzz_packet = { "packet", "contract/packet-*.txt", run };
