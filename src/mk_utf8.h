/*
 * mk_utf8.h
 *		Text of the database as bytes of a record, which are UTF-8, and back.
 */
#ifndef MK_UTF8_H
#define MK_UTF8_H

/*
 * A text as a bytea in UTF-8, and back.  From bytea, NULL if the bytes are no
 * text that the database's encoding has.
 */
extern struct varlena *mk_utf8_from_text(struct varlena *text);
extern struct varlena *mk_utf8_to_text(struct varlena *bytes);

#endif /* MK_UTF8_H */
