/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "trace/pallas/attributes.h"

int pallas_list_next(const struct pallas_event *e, const uint8_t **at, struct pallas_list *list)
{
	size_t left = e->attributes_size - (size_t)(*at - e->attributes);
	uint16_t size;

	if (left == 0)
		return 0;
	if (left < PALLAS_LIST_HEADER)
		return -EBADMSG;
	size = get_u16(*at + 4);
	if (size < PALLAS_LIST_HEADER || size > left)
		return -EBADMSG;
	list->occurrence = get_i32(*at);
	list->nvalues = (*at)[6];
	list->values = *at + PALLAS_LIST_HEADER;
	list->end = *at + size;
	*at += size;
	return 1;
}

int pallas_value_next(struct pallas_list *list, struct pallas_value *value)
{
	size_t left = (size_t)(list->end - list->values);
	uint16_t size;

	if (list->nvalues == 0)
		return left ? -EBADMSG : 0;
	if (left < PALLAS_VALUE_HEADER)
		return -EBADMSG;
	size = get_u16(list->values);
	if (size < PALLAS_VALUE_HEADER || size > left)
		return -EBADMSG;
	value->ref = get_u32(list->values + 2);
	value->bytes = list->values + PALLAS_VALUE_HEADER;
	value->size = (uint16_t)(size - PALLAS_VALUE_HEADER);
	list->values += size;
	list->nvalues--;
	return 1;
}
