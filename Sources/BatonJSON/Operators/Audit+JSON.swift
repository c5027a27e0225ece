import BatonBase
import BatonIdentity
package import BatonModel
import BatonStore

extension AuditRow {
  package var json: JSONValue {
    [
      "sequence": .integer(sequence), "at": .string(entry.at.rfc3339), "actor": .string(entry.actor),
      "credential": JSONValue(entry.credential.map { Hexadecimal.text($0) }), "peer": .string(entry.peer),
      "method": .string(entry.method), "object": .string(entry.object),
      "outcome": .string(entry.outcome.rawValue), "detail": .string(entry.detail),
      "previous": .string(Hexadecimal.text(previous)), "hash": .string(Hexadecimal.text(hash)),
    ]
  }
}
