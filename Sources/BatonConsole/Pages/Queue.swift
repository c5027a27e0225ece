import BatonAPI

extension Console {
  var queueRoutes: [Route] { [] }
}
