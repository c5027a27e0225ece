import BatonAPI

extension Console {
  var helpRoutes: [Route] { [] }
}
