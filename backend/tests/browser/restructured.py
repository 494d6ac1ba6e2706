"""reStructuredText that the browser reads: what docutils and Sphinx know of it, and what means harm."""

MAST = """:orphan:

.. _the-mast:

####
Mast
####

A *mast* is **stepped** on the ``keel``; see :func:`~rig.spars.step`, `the spars`_, `rope <https://example.org/rope>`_,
:doc:`the gauges <gauges/index>`, :ref:`the-mast`, :ref:`elsewhere`, :pep:`8`, H\\ :sub:`2`\\ O, |boom| and stays_
[1]_ [#]_. It is hoisted so::

    hoist(mast)
      then(boom)

.. this is a comment
   of two lines

.. |boom| replace:: the *boom*
.. _stays: https://example.org/stays

- light

  1. spruce
  #. fir
- strong

(a)
   first

   again
(b) second

peak : angle
   The upper end.
throat
   The lower end.

:Height: nine metres
:Weight: none

-v, --verbose  says more

>>> step()
True

| Two lines
|   of verse

The spars
=========

.. warning:: Never alone.

   * ask

.. versionchanged:: 2.1 It bends.

.. admonition:: Of *ropes*

   Wet ones shrink.

.. code-block:: python
   :caption: step.py

   step(1 < 2)

.. function:: step(mast)
              step(mast, keel)
   :async:

   Steps it.

   :param mast: what is stepped

.. rigging:: by hand
   :crew: two

   Unknown, but shown.

+------+-------------+
| Spar | Use         |
+======+======+======+
| gaff | peak | sail |
+------+------+------+
| boom | - foot      |
|      | - clew      |
+------+-------------+

====  =====
Rope  Metres
====  =====
main  40
      spare
jib   30
====  =====

.. list-table:: Blocks
   :header-rows: 1

   * - Name
     - Sheaves
   * - tack
     - ``2``

.. csv-table::
   :header: "Knot", "Turns, all"

   hitch, "two ""half"" ones"

.. figure:: mast.png
   :alt: A mast, stepped

   On the keel.

.. toctree::
   :caption: More

   gauges/index
   Far <https://example.org/far>

.. [1] Of steel.
.. [#] Of rope.

+-----+
| torn
"""

HOSTILE_RST = """Bitter cup
==========

The bitter cup paragraph. <script>window.harmed = 'text'</script> `a <javascript:window.harmed='link'>`_ bad_
:raw-html:`<img src=x onerror="window.harmed='role'">` |pixel| :pep:`javascript:window.harmed=1`
:doc:`/../../../../etc/passwd` :doc:`javascript:window.harmed='doc'`

.. _bad: javascript:window.harmed='target'
.. |pixel| image:: http://198.51.100.7/pixel.png
   :target: javascript:window.harmed='picture'
.. role:: raw-html(raw)
   :format: html

.. raw:: html

   <script>window.harmed = 'raw'</script><img src=x onerror="window.harmed='img'">

.. image:: javascript:window.harmed='image'
   :alt: x" onerror="window.harmed='alt'
   :target: javascript:window.harmed='figure'

.. include:: /etc/passwd

.. toctree::

   x <javascript:window.harmed='toctree'>

.. class:: "><img src=x onerror=window.harmed='class'>
"""

ROPE = "Rope\n====\n\nLaid rope.\n\n.. note:: Keep it dry.\n"
