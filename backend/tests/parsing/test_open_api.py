"""Descriptions of HTTP interfaces: what is proved here.

* Webhooks and callbacks are operations; texts of a path stand under each of its operations.
* Inline schemas, response headers, examples, security schemes and links to other pages are written out.
* An example is cut, and what YAML's references multiply costs no time.
"""

from __future__ import annotations

import json
import time

from .conftest import Parse

SHOP = """openapi: 3.1.0
info: {title: Shop, version: "2"}
externalDocs: {description: The genet manual, url: https://example.org/genet}
webhooks:
  newPet:
    post: {summary: Tells of a margay, responses: {'200': {description: fine}}}
  gone: {$ref: '#/components/pathItems/Gone'}
paths:
  /x/{id}:
    summary: About one lynx
    description: A bobcat isn't one.
    get:
      operationId: getX
      externalDocs: {url: https://example.org/get}
      responses: {'404': {$ref: '#/components/responses/Lost'}}
    post:
      operationId: makeX
      requestBody:
        content:
          application/json:
            schema: {$ref: '#/components/schemas/A'}
            examples: {one: {summary: An oncilla, value: {kod: [1]}}, two: {$ref: '#/components/examples/Two'}}
      callbacks:
        onEvent: {'{$request.body#/url}': {put: {summary: Calls a puma, callbacks: {again: {'/y': {get: {}}}}}}}
      responses:
        '201':
          description: created
          headers: {X-Rate: {description: Requests of a leopard, schema: {type: integer}}}
          content:
            application/json:
              schema:
                oneOf:
                - {$ref: '#/components/schemas/A'}
                - {type: object, properties: {q: {description: A cheetah, type: string}}}
        default: {description: list, content: {a/b: {schema: {type: array, items: {properties: {r: {type: number}}}}}}}
components:
  schemas: {A: {type: object, properties: {z: {type: string}}, example: {z: tiger}}}
  examples: {Two: {value: plain caracal}}
  pathItems: {Gone: {delete: {summary: Tells of a serval}}}
  responses: {Lost: {description: lost ocelot}, Spare: {description: spare panther}}
  securitySchemes:
    oauth: {type: oauth2, description: Signed by a lion, flows: {implicit: {scopes: {'read:x': Reads a jaguar}}}}
"""


def test_every_operation_scheme_and_spare_response_has_a_heading(parse: Parse) -> None:
    doc = parse(SHOP, "a/b/shop.yaml")
    assert [head.text for head in doc.headings] == [
        "Shop 2", "GET /x/{id}", "POST /x/{id}", "PUT {$request.body#/url} (callback onEvent)",
        "POST newPet (webhook)", "DELETE gone (webhook)", "Schema A", "Security scheme oauth",
    ]  # fmt: skip
    assert doc.text.count("lost ocelot") == 1
    assert doc.text.count("About one lynx") == doc.text.count("A bobcat isn't one.") == 2


def test_what_belongs_to_an_operation_is_written_under_it(parse: Parse) -> None:
    text = parse(SHOP, "a/b/shop.yaml").text
    for expected in (
        "See also: The genet manual",
        "See also: https://example.org/get",
        "Tells of a margay",
        "Tells of a serval",
        "Calls a puma",
        'An oncilla\n\n```json\n{\n  "kod": [\n    1\n  ]\n}\n```\n\n```\nplain caracal\n```',
        "- 201: created (application/json one of: A, object)\n  - Header X-Rate (integer): Requests of a leopard\n\n",
        "| q | string | no | A cheetah |",
        "| r | number | no |  |",
        '"z": "tiger"',
        "oauth2\n\nSigned by a lion\n\n- read:x: Reads a jaguar",
    ):
        assert expected in text


def test_the_older_format_has_its_schemes_responses_and_examples(parse: Parse) -> None:
    shop = {
        "swagger": "2.0",
        "paths": {"/a": {"get": {"responses": {"200": {"description": "ok", "examples": {"a/b": {"name": "fossa"}}}}}}},
        "securityDefinitions": {"key": {"type": "apiKey", "in": "header", "name": "X-Key", "scopes": {"w": "writes"}}},
    }
    text = parse(json.dumps(shop), "a/b/shop.json").text
    for expected in ('"name": "fossa"', "apiKey, header, X-Key", "- w: writes"):
        assert expected in text


PARTS = """\
openapi: 3.1.0
paths:
  /y:
    get:
      parameters:
        - {name: since, in: query, schema: {type: string, description: Day of a stork}}
        - {name: key, in: query, schema: {$ref: '#/components/schemas/Key'}}
components:
  schemas:
    Key: {type: string, description: Name of a heron}
    List:
      type: object
      properties:
        owner: {allOf: [{$ref: '#/components/schemas/Key'}, {description: Keeper of an ibis}]}
        birds:
          type: array
          items:
            description: One bird
            anyOf:
              - {description: Seen today, properties: {id: {type: string, description: Ring of an egret}}}
              - {properties: {id: {type: string, description: Ring of an egret}, call: {description: Cry of a crane}}}
    Choice: {oneOf: [{type: string, description: Answers like a rail}, {$ref: '#/components/schemas/Key'}]}
"""


def test_what_is_said_of_a_schema_by_its_parts_its_items_or_a_parameters_schema_is_written(parse: Parse) -> None:
    doc = parse(PARTS, "a/examples/birds.yaml")
    assert doc.doc_type == "api"
    for expected in (
        "| since | query | string | no | Day of a stork |",
        "| key | query | Key | no | Name of a heron |",
        "| owner | Key | no | Keeper of an ibis |",
        "| birds | array of any of: object | no | One bird |",
        "| birds.id | string | no | Ring of an egret |\n| birds.call |  | no | Cry of a crane |",
        "Answers like a rail",
    ):
        assert expected in doc.text


def test_examples_are_cut_and_references_multiply_nothing(parse: Parse) -> None:
    bomb = "\n".join(f"b{n}: &b{n} [{', '.join([f'*b{n - 1}'] * 9)}]" for n in range(1, 12))
    text = (
        f"openapi: 3.0.0\nb0: &b0 [{'x' * 5_000}]\n{bomb}\n"
        "components: {schemas: {A: {type: object, example: *b11}, B: {example: {2026-01-01: a, b: 2026-01-01}}}}\n"
    )
    began = time.thread_time()
    doc = parse(text, "a/b/bomb.yaml")
    assert time.thread_time() - began < 2
    assert doc.notes == ()
    assert len(doc.text) < 2_000
    assert '"b": "2026-01-01"' in doc.text
