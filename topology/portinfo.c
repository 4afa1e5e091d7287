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

static int decode_width(void *info)
{
	switch (mad_get_field(info, 0, IB_PORT_LINK_WIDTH_ACTIVE_F)) {
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

static const char *decode_basic(void *info, void *vendor)
{
	uint32_t basic = mad_get_field(info, 0, IB_PORT_LINK_SPEED_ACTIVE_F);

	if (basic == 4 && !vendor)
		return "";
	if (basic == 4 &&
	    mad_get_field(vendor, 0, IB_MLNX_EXT_PORT_LINK_SPEED_ACTIVE_F) & FDR10_ACTIVE)
		return "FDR10";
	return basic == 1 ? "SDR" : basic == 2 ? "DDR" : basic == 4 ? "QDR" : "";
}

static const char *decode_speed(void *info, void *caps, void *vendor)
{
	if (!caps)
		return "";
	switch (extended_speed(info, caps)) {
	case 0:
		return decode_basic(info, vendor);
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

struct fabric_wire portinfo_wire(void *info, void *caps, void *vendor)
{
	struct fabric_wire wire = { .width = decode_width(info) };
	uint32_t state = mad_get_field(info, 0, IB_PORT_STATE_F);

	wire.speed_bps = subnet_speed_bps(decode_speed(info, caps, vendor), wire.width);
	if (state >= LINK_DOWN && state <= LINK_ACTIVE)
		wire.state = (enum link_state)state;
	return wire;
}

bool portinfo_is_up(void *info)
{
	return mad_get_field(info, 0, IB_PORT_PHYS_STATE_F) == PHYS_LINK_UP;
}
