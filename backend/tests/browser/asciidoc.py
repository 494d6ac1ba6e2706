"""AsciiDoc that the browser reads."""

SPARS = """= Spars
Ada Mast <ada@example.org>
:wood: oak
:url: https://example.org

A *spar* of [.a]_{wood}_ with `bolts`, "`quoted`", H~2~O, {unknown}, {url}/rope[rope], xref:masts.adoc#limits[limits],
<<boom>> and <<Rigging>>. +
Next line. https://example.org/bare.

[[boom]]
== The boom

NOTE: Never *alone*.

.Steps
[source,python]
----
step(1 < 2) # <1>
----
<1> Steps it.

// hidden

* light
** spruce
. one
. two
+
Attached.

* strong
* [x] done

peak:: The upper end.
throat::
  The lower end.

[WARNING]
.Wet ones
====
They shrink.

====

.Blocks
[cols="1,2a",options="header"]
|===
|Name |Sheaves

|tack
|* two
* three

2+|both \\| bars
|===

[quote, Ada, Log]
____
All hands.
____

 literal line

image::boom.png["A boom, rigged"]

include::other.adoc[]

++++
<script>window.harmed = 'pass'</script>
++++

== Rigging

footnote:[Of rope.] link:javascript:alert(1)[bad] pass:[<img src=x onerror="window.harmed='p'">]
"""
