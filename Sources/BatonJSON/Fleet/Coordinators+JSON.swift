package import BatonCoordinator
import BatonModel
import BatonStore

extension JSONValue {
  package init(_ coordinator: CoordinatorReport) {
    let place = coordinator.place
    self = [
      "number": JSONValue(coordinator.number), "name": JSONValue(place.name.isEmpty ? nil : place.name),
      "version": JSONValue(place.version.isEmpty ? nil : place.version),
      "workers": JSONValue(place.workers.isEmpty ? nil : place.workers), "operators": JSONValue(place.operators),
      "https": JSONValue(place.https), "hosts": JSONValue(coordinator.hosts),
      "steward": .bool(coordinator.isSteward), "answers": .bool(coordinator.answers),
      "beatAgeMilliseconds": JSONValue(coordinator.beatAge.map { Int($0.nanoseconds / 1_000_000) }),
      "ended": .bool(coordinator.isEnded),
      "endedForSeconds": JSONValue(coordinator.endedFor.map { Int($0.components.seconds) }),
      "namespaces": JSONValue(coordinator.namespaces),
    ]
  }
}
