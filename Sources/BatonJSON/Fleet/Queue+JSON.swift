package import BatonCoordinator
import BatonModel
import BatonStore

extension JSONValue {
  package init(_ queue: QueueReport) {
    self = [
      "classes": .array(queue.classes.map { JSONValue($0) }), "moreClasses": JSONValue(queue.moreClasses),
    ]
  }

  private init(_ one: QueueReport.Class) {
    self = [
      "definition": JSONValue(one.pattern.rawValue), "priority": JSONValue(one.priority.name),
      "countsAs": JSONValue(one.countsAs?.name), "recentUse": .bool(one.hasRecentUse), "ready": JSONValue(one.ready),
      "isMore": .bool(one.ready > Verbs.countLimit), "oldestAt": JSONValue(one.oldest),
      "keepsEarlier": .bool(one.keepsEarlier), "obstacle": JSONValue(one.obstacle),
      "obstacleHosts": JSONValue(one.obstacleHosts),
      "next": .array(
        one.next.map { next in
          [
            "identifier": JSONValue(next.identifier.rawValue), "request": JSONValue(next.number),
            "shard": JSONValue(next.shard), "readyAt": JSONValue(next.readyAt),
          ]
        }),
    ]
  }
}
