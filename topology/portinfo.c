/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * portinfo.c - see portinfo.h. libibmad knows where the fields are.
 */
#include "portinfo.h"

#include <infiniband/umad.h>
/* mad.h after umad.h: it uses its types */
#include <infiniband/ibnetdisc.h>
#include <infiniband/mad.h>

#include "subnet.h"

#define PHYS_LINK_UP 5		  /* PortInfo.PortPhysicalState */
#define CAP_EXT_SPEEDS (1u << 14) /* PortInfo.CapabilityMask: IsExtendedSpeedsSupported */
#define FDR10_ACTIVE 1u

static int decode_width(uint32_t bit)
{
	switch (bit) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

static uint32_t extended_speed(void *info, void *caps)
{
#ifdef HAVE_IBND_GET_AGG_LINKSPEEDEXT
	return (uint32_t)ibnd_get_agg_linkspeedext(caps, info);
#else
	if (!(mad_get_field(caps, 0, IB_PORT_CAPMASK_F) & CAP_EXT_SPEEDS))
		return 0;
	return mad_get_field(info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F);
#endif
}

static const char *basic_name(uint32_t bit)
{
	return bit == 1 ? "SDR" : bit == 2 ? "DDR" : bit == 4 ? "QDR" : "";
}

static const char *extended_name(uint32_t bit)
{
	switch (bit) {
	case 1:
		return "FDR";
	case 2:
		return "EDR";
	case 4:
		return "HDR";
	case 8:
		return "NDR";
	case 32:
		return "XDR";
	default:
		return "";
	}
}

static const char *decode_basic(void *info, void *vendor)
{
	uint32_t basic = mad_get_field(info, 0, IB_PORT_LINK_SPEED_ACTIVE_F);

	if (basic == 4 && !vendor)
		return "";
	if (basic == 4 &&
	    mad_get_field(vendor, 0, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F) & FDR10_ACTIVE)
		return "FDR10";
	return basic_name(basic);
}

static const char *decode_speed(void *info, void *caps, void *vendor)
{
	uint32_t extended;

	if (!caps)
		return "";
	extended = extended_speed(info, caps);
	return extended ? extended_name(extended) : decode_basic(info, vendor);
}

static uint32_t highest_bit(uint32_t bits, uint32_t mask)
{
	uint32_t bit = 1u << 31;

	for (bits &= mask; bit && !(bits & bit);)
		bit >>= 1;
	return bit;
}

/* Bits of LinkWidthSupported: 1x, 4x, 8x, 12x, and 2x above them all. */
static int best_width(void *info)
{
	uint32_t bits = mad_get_field(info, 0, IB_PORT_LINK_WIDTH_SUPPORTED_F);
	int several = decode_width(highest_bit(bits, 0x0e)), two = decode_width(bits & 0x10);

	return several ? several : two ? two : decode_width(bits & 1);
}

/* FDR10 is not told of here: what it supports is QDR at least. */
static const char *best_speed(void *info, void *caps)
{
	uint32_t extended = 0;

	if (caps && mad_get_field(caps, 0, IB_PORT_CAPMASK_F) & CAP_EXT_SPEEDS)
		extended = mad_get_field(info, 0, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F);
	if (caps && highest_bit(extended, 0x0f))
		return extended_name(highest_bit(extended, 0x0f));
	return basic_name(
		highest_bit(mad_get_field(info, 0, IB_PORT_LINK_SPEED_SUPPORTED_F), 0x07));
}

/* Of a port that runs at more than it says it supports, what it supports is not known (XDR). */
static void decode_best(struct fabric_wire *wire, void *info, void *caps)
{
	int width = best_width(info);
	uint64_t speed_bps = caps ? subnet_speed_bps(best_speed(info, caps), width) : 0;

	if (!speed_bps || wire->width > width || wire->speed_bps > speed_bps)
		return;
	wire->best_width = width;
	wire->best_speed_bps = speed_bps;
}

struct fabric_wire portinfo_wire(void *info, void *caps, void *vendor)
{
	struct fabric_wire wire = {
		.width = decode_width(mad_get_field(info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)),
	};
	uint32_t state = mad_get_field(info, 0, IB_PORT_STATE_F);

	wire.speed_bps = subnet_speed_bps(decode_speed(info, caps, vendor), wire.width);
	decode_best(&wire, info, caps);
	if (state >= LINK_DOWN && state <= LINK_ACTIVE)
		wire.state = (enum link_state)state;
	return wire;
}

bool portinfo_is_up(void *info)
{
	return mad_get_field(info, 0, IB_PORT_PHYS_STATE_F) == PHYS_LINK_UP;
}
