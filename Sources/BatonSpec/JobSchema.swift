// Written by BatonSpecTests from Config/job.schema.json (BATON_RECORD=1); a test holds the two together.

/// The JSON Schema (draft-07) of a job, for editors and `baton schema`.
package enum JobSchema {
  /// The text of `Config/job.schema.json`.
  package static let text = #"""
    {
      "$schema": "http://json-schema.org/draft-07/schema#",
      "title": "Baton job",
      "description": "A job of Baton. `baton validate` finds what a schema cannot express: see the documentation.",
      "type": "object",
      "required": ["identifier", "kind"],
      "additionalProperties": false,
      "properties": {
        "identifier": {
          "description": "The job's name: parts of letters, digits, '-' and '_' with dots between. A trailing '.*' declares every identifier below, such as com.example.export.*.",
          "type": "string",
          "maxLength": 255,
          "pattern": "^[A-Za-z0-9_-]+(\\.[A-Za-z0-9_-]+)*(\\.\\*)?$"
        },
        "kind": {
          "description": "refresh: a short look for news, 30 seconds. processing: long work for an idle host, in slices of 10 minutes. continued: work that a person started and watches; starts at once. A command without items and without a cursor runs in one piece, as long as it needs, under each kind.",
          "enum": ["refresh", "processing", "continued"]
        },
        "title": {"description": "What people see. Required for kind continued.", "$ref": "#/definitions/title"},
        "subtitle": {"description": "A second line below the title.", "$ref": "#/definitions/title"},
        "requiresExternalPower": {
          "description": "Runs only on a host with external power; unplugging it expires the launch. Default: false.",
          "type": "boolean"
        },
        "requiresNetworkConnectivity": {
          "description": "Runs only on a host with a network, the same as network: any. Default: false.",
          "type": "boolean"
        },
        "network": {
          "description": "The network that the host must have: any, or one that is not metered.",
          "enum": ["any", "unmetered"]
        },
        "requiredResources": {
          "description": "[gpu] is the same as gpu: {count: 1}.",
          "type": "array",
          "uniqueItems": true,
          "items": {"enum": ["gpu"]}
        },
        "gpu": {
          "description": "GPUs that one launch holds.",
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "count": {"description": "How many. Default: 1.", "type": "integer", "minimum": 1, "maximum": 1024},
            "memory": {
              "description": "Least memory of each of them, such as 8GiB or 512MiB.",
              "type": "string",
              "pattern": "^[1-9][0-9]{0,8}([KMG]i?B|TB|TiB)$"
            }
          }
        },
        "requiredLabels": {
          "description": "Labels that the host must have, from 'labels' and 'facts' of its worker.yaml, such as {zone: garage}.",
          "type": "object",
          "maxProperties": 64,
          "propertyNames": {"pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"},
          "additionalProperties": {
            "type": ["string", "number", "boolean"],
            "pattern": "^[^\\u0000-\\u001f\\u007f]{0,255}$"
          }
        },
        "requiresIdle": {
          "description": "Runs only on a host whose user is away and whose load is low. Default: true for kind processing, false for the others.",
          "type": "boolean"
        },
        "slots": {
          "description": "How many of the host's slots one launch holds. Default: 1.",
          "type": "integer",
          "minimum": 1,
          "maximum": 1024
        },
        "strategy": {
          "description": "Kind continued only. queue: waits if no host can start it at once. fail: is refused then. Default: queue.",
          "enum": ["queue", "fail"]
        },
        "priority": {
          "description": "Higher starts first. Default: utility for refresh, background for processing, userInitiated for continued.",
          "enum": ["background", "utility", "userInitiated"]
        },
        "budget": {
          "description": "Longest launch, such as 10m; it then expires and goes on later from its checkpoint. Default: 30s for refresh, 10m for processing, no limit for continued; a command without items has no limit until it keeps a cursor.",
          "$ref": "#/definitions/positiveDuration"
        },
        "closingWindow": {
          "description": "How long a launch may take to close after it was asked to stop, from 1s to 10m; what still runs then is killed. Default: 5s for refresh, 30s for the others.",
          "$ref": "#/definitions/positiveDuration"
        },
        "stallAfter": {
          "description": "How long a launch may run without progress before it is suspected to have stalled, from 1s to 24h, and never less than five times a usual batch; it expires at twice that. Default: 60s for continued, no watch for the others; a command without items is not watched until it keeps a cursor.",
          "$ref": "#/definitions/positiveDuration"
        },
        "dailyAllowance": {
          "description": "Launch time that all launches of this definition may use in a day together, from 1s to 24h. No limit by default.",
          "$ref": "#/definitions/positiveDuration"
        },
        "retry": {
          "description": "What happens after a failure. Expiry never uses a retry up.",
          "type": "object",
          "additionalProperties": false,
          "properties": {
            "limit": {
              "description": "Retries after the first failure. Default: 3.",
              "type": "integer",
              "minimum": 0,
              "maximum": 1000
            },
            "backoff": {
              "description": "Wait before the first retry; it doubles with each one. Default: 30s.",
              "$ref": "#/definitions/duration"
            }
          }
        },
        "maxRunning": {
          "description": "Wildcards only: how many of the jobs below may run at once. No limit by default.",
          "type": "integer",
          "minimum": 1,
          "maximum": 100000
        },
        "pendingLimit": {
          "description": "How many requests of this definition may wait. Default: the coordinator's pendingLimit.",
          "type": "integer",
          "minimum": 1,
          "maximum": 2000000
        },
        "allowFrequent": {
          "description": "Kind refresh only: lifts the 15 minutes between the first launches of two requests. Default: false.",
          "type": "boolean"
        },
        "earliestBeginDate": {
          "description": "Not before: a duration from submission such as 15m, or an RFC 3339 date such as 2026-03-01T06:30:00Z. Ignored for kind continued.",
          "type": "string",
          "anyOf": [
            {"$ref": "#/definitions/duration"},
            {
              "pattern": "^(19[7-9][0-9]|20[0-9]{2}|21[0-9]{2}|22[0-5][0-9]|2260)-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])[Tt]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]+)?([Zz]|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
            }
          ]
        },
        "repeat": {
          "description": "Submits the next request when the first launch of one starts. Not for wildcards, and not for kind continued.",
          "type": "object",
          "additionalProperties": false,
          "required": ["every"],
          "properties": {
            "every": {
              "description": "Time between the earliest dates of two requests, such as 24h. Missed ones are not caught up.",
              "$ref": "#/definitions/positiveDuration"
            }
          }
        },
        "pokeSpacing": {
          "description": "Least time between the first launches of requests that pokes asked for, up to 7d; 0s for none. Default: 15m.",
          "$ref": "#/definitions/duration"
        },
        "work": {
          "description": "What a worker runs, once per batch. Without it, a worker's Swift code must have a handler for the identifier.",
          "$ref": "#/definitions/work"
        }
      },
      "allOf": [
        {
          "if": {"required": ["kind"], "properties": {"kind": {"const": "continued"}}},
          "then": {"required": ["title"], "properties": {"repeat": false}},
          "else": {"properties": {"strategy": false}}
        },
        {
          "if": {"required": ["kind"], "properties": {"kind": {"const": "refresh"}}},
          "then": true,
          "else": {"properties": {"allowFrequent": false}}
        },
        {
          "if": {"required": ["identifier"], "properties": {"identifier": {"type": "string", "pattern": "\\.\\*$"}}},
          "then": {"properties": {"repeat": false}},
          "else": {
            "properties": {
              "maxRunning": false,
              "work": {"properties": {"command": {"items": {"pattern": "^(\\$\\$\\{|\\$(?!\\$?\\{)|[^$\\u0000])*$"}}}}
            }
          }
        },
        {
          "description": "requiresNetworkConnectivity: false contradicts network.",
          "not": {
            "required": ["network", "requiresNetworkConnectivity"],
            "properties": {"requiresNetworkConnectivity": {"const": false}}
          }
        },
        {
          "description": "gpu contradicts requiredResources without gpu.",
          "not": {"required": ["gpu", "requiredResources"], "properties": {"requiredResources": {"maxItems": 0}}}
        }
      ],
      "definitions": {
        "title": {"type": "string", "maxLength": 200, "pattern": "^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028-\\u202e\\u2066-\\u2069]+$"},
        "duration": {
          "type": "string",
          "pattern": "^(?=.)([0-9]{1,18}d)?([0-9]{1,18}h)?([0-9]{1,18}m)?([0-9]{1,18}s)?([0-9]{1,18}ms)?$"
        },
        "positiveDuration": {
          "type": "string",
          "pattern": "^(?=.*[1-9])([0-9]{1,18}d)?([0-9]{1,18}h)?([0-9]{1,18}m)?([0-9]{1,18}s)?([0-9]{1,18}ms)?$"
        },
        "path": {"type": "string", "minLength": 1, "pattern": "^(?![\\s\\S]*\\$\\{wildcard\\})[^\\u0000]*$"},
        "literal": {"type": ["string", "number", "boolean"], "pattern": "^(?![\\s\\S]*\\$\\{wildcard\\})[^\\u0000]*$"},
        "work": {
          "type": "object",
          "required": ["command"],
          "additionalProperties": false,
          "properties": {
            "command": {
              "description": "The program and its arguments, run without a shell. ${wildcard} is what the identifier's * matched; $${ is a plain ${, so that $${f%.*} reaches a shell as ${f%.*}. Write -- before ${wildcard}: a match that begins with - is refused otherwise.",
              "type": "array",
              "minItems": 1,
              "items": {
                "type": ["string", "number", "boolean"],
                "pattern": "^(\\$\\$\\{|\\$\\{wildcard\\}|\\$(?!\\$?\\{)|[^$\\u0000])*$"
              }
            },
            "directory": {
              "description": "Where the command runs; relative to this file's folder. Default: this file's folder for `baton run` and `baton up`, otherwise an empty folder for each launch.",
              "allOf": [{"$ref": "#/definitions/path"}, {"pattern": "^(?!~(/|$))"}]
            },
            "items": {
              "description": "What the batches are made of: exactly one of glob, lines, range and list. Without it the command runs in one piece: when it is interrupted it starts again from the beginning, unless it keeps a cursor.",
              "type": "object",
              "additionalProperties": false,
              "minProperties": 1,
              "maxProperties": 1,
              "properties": {
                "glob": {
                  "description": "Regular files that match, relative to the directory; ** crosses folders. Quote it: \"**/*.jpg\".",
                  "$ref": "#/definitions/path"
                },
                "lines": {
                  "description": "A file with one item per line, relative to the directory.",
                  "$ref": "#/definitions/path"
                },
                "range": {
                  "description": "Whole numbers: 1...10000 with its end, 0..<10000 without it.",
                  "type": "string",
                  "pattern": "^(0|-?[1-9][0-9]{0,18})\\.\\.[.<](0|-?[1-9][0-9]{0,18})$"
                },
                "list": {
                  "description": "The items themselves.",
                  "type": "array",
                  "minItems": 1,
                  "items": {"$ref": "#/definitions/literal"}
                }
              }
            },
            "batchSize": {
              "description": "Items per batch; at most one batch is repeated per interruption. Default: 1.",
              "type": "integer",
              "minimum": 1,
              "maximum": 100000
            },
            "pass": {
              "description": "How items reach the command: as its last arguments, on its standard input, or in the file named by BATON_ITEMS_FILE. Default: arguments.",
              "enum": ["arguments", "stdin", "file"]
            },
            "environment": {
              "description": "Variables added to a clean environment. BATON_ names and TRACEPARENT are Baton's own.",
              "type": "object",
              "propertyNames": {"pattern": "^(?!BATON_|TRACEPARENT$)[A-Za-z_][A-Za-z0-9_]*$"},
              "additionalProperties": {"$ref": "#/definitions/literal"}
            },
            "onExpiry": {
              "description": "finishBatch: the running batch may finish until shortly before the deadline. terminate: SIGTERM at once. Default: finishBatch.",
              "enum": ["finishBatch", "terminate"]
            },
            "terminateBefore": {
              "description": "How long before the deadline of an expiry a command that still runs gets SIGTERM, at most the closing window. Default: 2s for refresh, 5s for the others, and half of the closing window where that is less.",
              "$ref": "#/definitions/duration"
            },
            "failureOutput": {
              "description": "What the reason of a failure has of the command's output: tail, the last lines; none, nothing. Reasons are seen in lists and traces. baton logs has the output either way. Default: tail.",
              "enum": ["tail", "none"]
            }
          },
          "allOf": [
            {
              "description": "The program's name is not empty.",
              "not": {
                "required": ["command"],
                "properties": {"command": {"type": "array", "minItems": 1, "items": [{"const": ""}]}}
              }
            },
            {
              "if": {"required": ["pass"], "properties": {"pass": {"enum": ["stdin", "file"]}}},
              "then": {"properties": {"items": {"properties": {"list": {"items": {"pattern": "^[^\\n]*$"}}}}}},
              "else": true
            }
          ],
          "dependencies": {"batchSize": ["items"], "pass": ["items"]}
        }
      }
    }

    """#
}
