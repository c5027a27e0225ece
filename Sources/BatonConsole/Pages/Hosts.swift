import BatonAPI
import BatonCoordinator
import BatonModel

extension Console {
  var hostRoutes: [Route] {
    [
      page("/hosts", "FindHosts", query: ["name", "state", "condition", "label", "after"]) { visit in
        let found = try await visit.run { try await $0.hosts(HostFilter(), after: nil, limit: 100) }
        let rows = found.hosts.map { host -> HTML in
          "<tr id=\"\(host.name.rawValue)\"><td>\(Parts.host(host.name))</td><td>\(Parts.state(host.state))</td></tr>"
        }
        return Page(
          title: "Hosts", section: .hosts, topics: [.hosts],
          main: "<h1>Hosts</h1>\(Parts.table("Hosts", ["host", "state"], rows))")
      }
    ] + action(Self.drain)
  }

  private static let drain = Action(
    path: "/hosts/{host}/drain", method: "Drain",
    question: { visit, _ in
      let host = try visit.call.host
      return Question(
        title: "Drain \(host.rawValue)",
        text: "<p>The host takes no new launches. What runs on it goes on.</p>", button: "Drain", back: Parts.link(of: host))
    },
    perform: { visit, _ in
      let host = try visit.call.host
      try await visit.run { try await $0.setDraining(host, true) }
      return Outcome(text: "\(host.rawValue) drains.", page: Parts.link(of: host))
    })
}
